document.querySelectorAll(".controls").forEach((one) => { one.hidden = false; }); // controls need this script
document.querySelectorAll("#charts").forEach(makeCharts);
document.querySelectorAll("#table table").forEach(makeTable);
document.querySelectorAll(".zoom + figure").forEach(makeTimeline);
for (const kind of ["pointermove", "pointerdown"])
  document.addEventListener(kind, ({ target, clientX, clientY }) => {
    if (target.dataset.says) showTip(clientX, clientY, target.dataset.says);
    else hideTip();
  });

window.addEventListener("beforeprint", hideTip);
