// Shows a tip that explains the shape under the pointer.

const byId = (id) => document.getElementById(id);
const tip = byId("tip");
const hideTip = () => { tip.hidden = true; };
let shownAt = 0; // scroll position when the tip was shown

/** Shows a text next to a point of the window. */
function showTip(x, y, text) {
  tip.textContent = text;
  tip.hidden = false;
  shownAt = window.scrollY;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.max(4, Math.min(x + 16, document.documentElement.clientWidth - width - 4));
  const top = y + 16 + height < window.innerHeight ? y + 16 : Math.max(4, y - height - 16);
  tip.style.transform = `translate(${left}px, ${top}px)`;
}
// Browsers report a scroll late; the tip may have been shown since.
window.addEventListener("scroll", () => { if (window.scrollY !== shownAt) hideTip(); }, { passive: true });
