// Highlights the series under the pointer.

function makeCharts(charts) {
  const highlight = (name) => {
    for (const shapes of charts.querySelectorAll("g[data-series]")) shapes.classList.toggle("highlighted", shapes.dataset.series === name);
    charts.classList.toggle("highlighting", charts.querySelector(".highlighted") !== null);
  };
  const pointAt = ({ target }) => highlight(target.closest("[data-series]")?.dataset.series);
  for (const kind of ["pointermove", "pointerdown"]) charts.addEventListener(kind, pointAt);
  charts.addEventListener("pointerleave", () => highlight());
}
