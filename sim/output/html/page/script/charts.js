// Shows the charts of the chosen measure and highlights the series under the pointer.

function makeCharts(charts) {
  const show = (id) => charts.querySelectorAll(".chart").forEach((chart) => { chart.hidden = chart.id !== id; });
  const radios = [...charts.querySelectorAll("input[name=chart]")];
  for (const radio of radios) radio.addEventListener("change", () => show(radio.value));
  show(radios.find((radio) => radio.checked)?.value); // a browser may restore the choice of the last visit

  let pinned = null;
  const highlight = (name) => {
    for (const shapes of charts.querySelectorAll("g[data-series]")) shapes.classList.toggle("highlighted", shapes.dataset.series === name);
    charts.classList.toggle("highlighting", charts.querySelector(".highlighted") !== null);
  };
  const pointAt = ({ target }) => highlight(target.closest("[data-series]")?.dataset.series ?? pinned);
  for (const kind of ["pointermove", "pointerdown"]) charts.addEventListener(kind, pointAt);
  charts.addEventListener("pointerleave", () => highlight(pinned));
  charts.querySelectorAll("button[data-series]").forEach((button) => {
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      pinned = pinned === button.dataset.series ? null : button.dataset.series;
      charts.querySelectorAll("button[data-series]").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.series === pinned)));
      highlight(pinned);
    });
  });
}
