// Magnifies timelines. Browsers scroll what is then larger than the page.

function makeTimeline(figure) {
  const picture = figure.querySelector("svg"), [larger, smaller, whole] = figure.previousElementSibling.children;
  let zoom = 1;
  const show = (next) => {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = figure, growth = next / zoom;
    zoom = next;
    picture.style.width = zoom > 1 ? `${100 * zoom}%` : "";
    picture.style.maxWidth = zoom > 1 ? "none" : "";
    const keepMiddle = (from, size) => (from + size / 2) * growth - size / 2;
    figure.scrollTo(keepMiddle(scrollLeft, clientWidth), keepMiddle(scrollTop, clientHeight));
  };
  larger.addEventListener("click", () => show(Math.min(2 * zoom, 64)));
  smaller.addEventListener("click", () => show(Math.max(zoom / 2, 1)));
  whole.addEventListener("click", () => show(1));
}
