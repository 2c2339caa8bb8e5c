// Elements, and the tip beside what the pointer or the keyboard points at.

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

let onPaper = 0; // how many px wide the page is drawn, while it is printed

const tip = byId("tip");
let tipShownAt = 0;

/** Show a title and pairs of name and value beside a point of the window. */
function showTip(x, y, title, pairs) {
  const list = html("dl", {}, ...pairs.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
  tip.replaceChildren(html("strong", {}, title), list);
  tip.hidden = false;
  tipShownAt = window.scrollY;
  const { width, height } = tip.getBoundingClientRect();
  const across = document.documentElement.clientWidth;
  const left = x + 16 + width < across ? x + 16 : Math.max(4, Math.min(x - width - 16, across - width - 4));
  const top = y + 16 + height < window.innerHeight ? y + 16 : Math.max(4, y - height - 16);
  tip.style.transform = `translate(${left}px, ${top}px)`;
}
const hideTip = () => { tip.hidden = true; };
// What it was shown beside moves away; the scrolling that a focus causes comes before, and is told after.
window.addEventListener("scroll", () => { if (window.scrollY !== tipShownAt) hideTip(); }, { passive: true });

function rowTip(x, y, row) {
  const pairs = [["profile", row.profile], ["cluster", row.cluster], ["workers", String(row.workers)], ["collective", row.collective],
    ["iteration", duration(row.iteration_s)], ["exposed comm.", duration(row.exposed_comm_s)],
    ["speed-up", digits(row.speedup)], ["efficiency", percent(row.efficiency)]];
  if (row.straggler_s) pairs.push(["stragglers", duration(row.straggler_s)]);
  if (row.above !== null) pairs.push(["above bound", percent(row.above)]);
  if (!row.fits) pairs.push(["memory", `${bytes(row.memory_bytes)}: does not fit`]);
  if (isGuess(row)) pairs.push(["layer times", row.origin]);
  showTip(x, y, row.series, pairs);
}
