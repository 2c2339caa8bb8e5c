// Zooms and moves timelines, and shows tips on their shapes. Time begins at x = `left` and is `across` wide.

const UNITS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
const unitOf = (seconds) => (seconds === 0 ? UNITS[0] : UNITS.find(([, size]) => seconds >= size) ?? UNITS[3]);
const digits = (value, count = 4) => String(Number(value.toPrecision(count)));
const duration = (seconds) => `${digits(seconds / unitOf(seconds)[1])} ${unitOf(seconds)[0]}`;

const svg = (tag, attributes, text = "") => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};

/** Returns the corners of a shape; the first one is its position. */
const pointsOf = (shape) => (shape.getAttribute("points") ?? `${shape.getAttribute("x") ?? shape.getAttribute("cx")},${shape.getAttribute("y") ?? shape.getAttribute("cy")}`)
  .split(" ").map((point) => point.split(",").map(Number));

/** Returns a function that moves a shape when time is drawn wider. Shapes that stand for something are stretched; words,
    their backgrounds and heads of arrows keep their size. `at` maps an x of the picture to its new place. */
function moverOf(shape) {
  const set = (name, value) => shape.setAttribute(name, value.toFixed(2));
  const stretched = shape.dataset.says || shape.getAttribute("fill")?.startsWith("url"), points = pointsOf(shape), [x] = points[0];
  if (shape.tagName === "rect") {
    const width = Number(shape.getAttribute("width"));
    return stretched ? (at) => { set("x", at(x)); set("width", Math.max(at(x + width) - at(x), 0.4)); } : (at) => set("x", at(x + width / 2) - width / 2);
  }
  if (!shape.hasAttribute("points")) return (at) => set(shape.tagName === "circle" ? "cx" : "x", at(x));
  const rigid = shape.tagName === "polygon" && !stretched;
  return (at) => shape.setAttribute("points", points.map(([px, py]) => `${(rigid ? at(x) + px - x : at(px)).toFixed(2)},${py}`).join(" "));
}

function makeTimeline(figure, index) {
  const picture = figure.querySelector("svg"), { width: widthOfPage, height: heightOfPage } = picture.viewBox.baseVal;
  const [left, top, across, height] = picture.dataset.field.split(" ").map(Number), foot = top + height;
  const whole = Number(picture.dataset.seconds), mostZoom = Number(picture.dataset.zoom);

  // Only shapes in the field move with time, not the names of rows and what surrounds the field.
  const all = [...picture.children].map((shape) => ({ shape, place: pointsOf(shape)[0], timed: shape.matches(".time, .tick") }));
  const axis = all.filter(({ place, timed }) => timed && place[0] > left - 0.02).map(({ shape }) => shape);
  const shapes = all.filter(({ shape, place: [x, y], timed }) => x > left - 0.02 && y > top - 0.02 && y < foot + 0.02 && !timed && !shape.matches(".heading"))
    .map(({ shape }) => shape);
  const field = svg("g", { class: "field", "clip-path": `url(#field-${index})` }), ticks = svg("g", {}), clip = svg("clipPath", { id: `field-${index}` });
  clip.append(svg("rect", { x: left - 1, y: 0, width: widthOfPage - left + 1, height: heightOfPage }));
  axis.at(-1).after(clip, ticks, field);
  field.append(...shapes);
  const movers = shapes.map(moverOf), hiddenWords = shapes.filter((shape) => shape.dataset.zoom);
  const boxes = shapes.filter((shape) => shape.matches("rect[data-says]:not(.exposed)")).map((shape) => {
    const [x, y, width] = ["x", "y", "width"].map((name) => Number(shape.getAttribute(name)));
    return { shape, y, from: x, to: x + width };
  }).sort((a, b) => a.from - b.from);
  const rowsOfBoxes = [...new Set(boxes.map(({ y }) => y))].sort((a, b) => a - b);

  let from = 0, to = 1, chosen = null; // the visible part of the time, from 0 to 1
  const at = (x) => left + ((x - left) / across - from) / (to - from) * across;
  picture.classList.add("timeline");
  picture.tabIndex = 0;
  picture.setAttribute("role", "application");
  const [larger, smaller, everything, range] = figure.previousElementSibling.children;

  function view(start, end) {
    const long = Math.min(1, Math.max(1 / mostZoom, end - start));
    from = Math.max(0, Math.min(start, 1 - long));
    to = from + long;
    const zoomed = to - from < 1;
    movers.forEach((move) => move(at));
    for (const word of hiddenWords) word.setAttribute("visibility", word.dataset.zoom * (to - from) <= 1 ? "visible" : "hidden");
    axis.forEach((shape) => { shape.style.display = zoomed ? "none" : ""; });
    ticks.replaceChildren(...(zoomed ? finerTicks() : []));
    picture.classList.toggle("zoomed", zoomed);
    range.textContent = `${duration(from * whole)} to ${duration(to * whole)} of ${duration(whole)}`;
  }
  function zoom(factor, middle = 0.5) {
    const fixed = from + middle * (to - from);
    view(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor);
  }
  function finerTicks() {
    const [, size] = unitOf(whole), least = (to - from) * whole / size / 8, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least * 0.999);
    const lines = [svg("line", { class: "foot", x1: left, x2: left + across, y1: foot, y2: foot })];
    for (let i = Math.ceil(from * whole / size / step - 1e-9); i * step * size <= to * whole * (1 + 1e-12); ++i) {
      const x = at(left + across * i * step * size / whole);
      lines.push(svg("line", { class: "fine", x1: x, x2: x, y1: top, y2: foot }), svg("text", { x, y: foot + 15, "font-size": 10, "text-anchor": "middle" }, digits(i * step, 8)));
    }
    return lines;
  }

  const choose = (shape, x, y) => {
    chosen?.classList.remove("chosen");
    chosen = shape;
    shape?.classList.add("chosen");
    if (shape) showTip(x, y, shape.dataset.says);
    else hideTip();
  };
  /** Goes to the next box of the row, or to the box of the next row at the same time. */
  function step(along, down) {
    const box = boxes.find(({ shape }) => shape === chosen);
    const row = box ? rowsOfBoxes[Math.max(0, Math.min(rowsOfBoxes.length - 1, rowsOfBoxes.indexOf(box.y) + down))] : rowsOfBoxes[0];
    const list = boxes.filter(({ y }) => y === row);
    const next = box && !down ? list.indexOf(box) + along : list.findIndex((one) => one.to > (box ? box.from : left + from * across) + 0.005);
    const { shape, from: start, to: end } = list[Math.max(0, Math.min(list.length - 1, next))], middle = ((start + end) / 2 - left) / across;
    if (middle < from || middle > to) view(middle - (to - from) / 2, middle + (to - from) / 2);
    const place = shape.getBoundingClientRect();
    choose(shape, place.left + Math.min(place.width, 40) / 2, place.bottom);
  }

  /** Returns the place of an event as a share of the shown part of the field. */
  const partOf = (event) => {
    const box = picture.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width * widthOfPage - left) / across;
  };
  const pointAt = ({ target, clientX, clientY }) => choose(target.dataset.says ? target : null, clientX, clientY);
  const move = (share) => view(from + share * (to - from), to + share * (to - from));
  const pointers = new Map();
  picture.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, partOf(event));
    pointAt(event);
    picture.setPointerCapture(event.pointerId);
    picture.classList.add("moving");
  });
  const release = (event) => { pointers.delete(event.pointerId); picture.classList.remove("moving"); };
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, release);
  picture.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return pointAt(event);
    const before = [...pointers.values()], was = pointers.get(event.pointerId);
    pointers.set(event.pointerId, partOf(event));
    if (pointers.size === 1) return move(was - partOf(event));
    const now = [...pointers.values()], spread = ([a, b]) => Math.max(Math.abs(a - b), 0.01);
    return zoom(spread(before) / spread(now), (now[0] + now[1]) / 2);
  });
  for (const end of ["pointerleave", "blur"]) picture.addEventListener(end, () => choose(null));
  picture.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (to - from >= 1 && (sideways || event.deltaY > 0)) return undefined; // lets the page scroll
    event.preventDefault();
    return sideways ? move(event.deltaX / across) : zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 300))), partOf(event));
  }, { passive: false });
  const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), _: () => zoom(2), 0: () => view(0, 1), Home: () => view(0, 1),
    Escape: () => choose(null), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2) };
  [[larger, "+"], [smaller, "-"], [everything, "0"]].forEach(([button, key]) => button.addEventListener("click", keys[key]));
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  picture.addEventListener("keydown", (event) => {
    const act = event.shiftKey && steps[event.key] ? () => step(...steps[event.key]) : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  view(0, 1);
}
