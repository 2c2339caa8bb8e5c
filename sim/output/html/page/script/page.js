document.querySelectorAll(".controls").forEach((one) => { one.hidden = false; }); // controls need this script
document.querySelectorAll("#charts").forEach(makeCharts);
document.querySelectorAll("#table table").forEach(makeTable);
document.querySelectorAll("figure:has([data-field])").forEach(makeTimeline);
for (const kind of ["pointermove", "pointerdown"])
  document.addEventListener(kind, ({ target, clientX, clientY }) => {
    if (target.closest(".timeline")) return; // timelines show their own tips
    if (target.dataset.says) showTip(clientX, clientY, target.dataset.says);
    else hideTip();
  });

// Opens all details for printing.
const folded = [];
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    folded.push(details);
  }
  hideTip();
});
window.addEventListener("afterprint", () => { while (folded.length) folded.pop().open = false; });
