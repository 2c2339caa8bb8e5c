// All parts together, on the screen and on paper.

makeHatches();
const drawTable = makeTable();
makeFilters(() => { drawCharts(); drawTable(); });
makeCharts();
document.querySelectorAll("#figures figure").forEach(makeTimeline);

// On paper everything is unfolded, and drawn as wide as the paper.
const PAPER = 700; // px between the margins
const folded = [];
function redraw() {
  drawCharts();
  drawTable();
}
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    folded.push(details);
  }
  hideTip();
  onPaper = PAPER;
  redraw();
});
window.addEventListener("afterprint", () => {
  while (folded.length) folded.pop().open = false;
  onPaper = 0;
  redraw();
});
