// Timelines are pictures: here they are zoomed, moved and pointed at. Their x is time from `left` on, `across` wide.

/** What moves a shape when time is drawn wider: shapes that say something are stretched; words, what they stand on, and
    arrows' heads keep their size. `at` tells where an x of the picture is then. */
function moverOf(shape) {
  const get = (name) => Number(shape.getAttribute(name)), set = (name, value) => shape.setAttribute(name, value.toFixed(2));
  const stretched = shape.dataset.says || shape.getAttribute("fill")?.startsWith("url");
  if (shape.tagName === "rect") {
    const left = get("x"), width = get("width");
    return stretched ? (at) => { set("x", at(left)); set("width", Math.max(at(left + width) - at(left), 0.4)); }
      : (at) => set("x", at(left + width / 2) - width / 2);
  }
  const points = shape.getAttribute("points")?.split(" ").map((point) => point.split(",").map(Number));
  if (!points) {
    const name = shape.tagName === "circle" ? "cx" : "x", x = get(name);
    return (at) => set(name, at(x));
  }
  const rigid = shape.tagName === "polygon" && !stretched, [tip] = points[0];
  return (at) => shape.setAttribute("points", points.map(([x, y]) => `${(rigid ? at(tip) + x - tip : at(x)).toFixed(2)},${y}`).join(" "));
}

function makeTimeline(figure, index) {
  const picture = figure.querySelector("svg"), whole = Number(picture.dataset.seconds);
  const [left, top, across, height] = picture.dataset.field.split(" ").map(Number), foot = top + height;
  const widthOfPage = picture.viewBox.baseVal.width;
  const name = picture.querySelector("title").textContent;
  picture.querySelectorAll("title").forEach((title) => { // its words stand in the tip
    if (title.parentNode !== picture) title.parentNode.dataset.says = title.textContent;
    title.remove();
  });

  // What stands in the field follows time; what names its rows, and what is around it, does not.
  const placeOf = (shape) => {
    const [x, y] = (shape.getAttribute("points") ?? "").split(/[ ,]/);
    return [x || shape.getAttribute("x") || shape.getAttribute("cx"), y || shape.getAttribute("y") || shape.getAttribute("cy")].map(Number);
  };
  const isInField = (shape) => {
    const [x, y] = placeOf(shape);
    return x > left - 0.02 && y > top - 0.02 && y < foot + 0.02 && !shape.matches(".heading, .time, .tick");
  };
  const axis = [...picture.children].filter((shape) => shape.matches(".time, .tick") && placeOf(shape)[0] > left - 0.02);
  const shapes = [...picture.children].filter(isInField);
  const field = svg("g", { class: "field", "clip-path": `url(#field-${index})` }), ticks = svg("g", {});
  picture.append(svg("clipPath", { id: `field-${index}` }, svg("rect", { x: left - 1, y: 0, width: widthOfPage - left + 1, height: picture.viewBox.baseVal.height })));
  axis.at(-1).after(ticks, field);
  field.append(...shapes);
  const movers = shapes.map(moverOf);
  const boxes = shapes.filter((shape) => shape.tagName === "rect" && shape.dataset.says && !shape.matches(".exposed")).map((shape) => ({ shape, y: Number(shape.getAttribute("y")),
    from: Number(shape.getAttribute("x")), to: Number(shape.getAttribute("x")) + Number(shape.getAttribute("width")) })).sort((a, b) => a.from - b.from);
  const rowsOfBoxes = distinct(boxes.map(({ y }) => y)).sort((a, b) => a - b);
  const hiddenWords = shapes.filter((shape) => shape.dataset.zoom).map((shape) => ({ shape, from: Number(shape.dataset.zoom) }));

  let from = 0, to = 1, chosen = null; // what is seen, from 0 to 1 of the time
  const at = (x) => left + ((x - left) / across - from) / (to - from) * across;
  Object.entries({ tabindex: 0, role: "application", class: "timeline",
    "aria-label": `Timeline of ${name}. Plus and minus zoom, arrows move, 0 shows all, shift and arrows go from box to box.` })
    .forEach(([key, value]) => picture.setAttribute(key, value));
  const range = html("output", { role: "status" });
  const button = (text, says, act) => {
    const one = html("button", { type: "button", title: says, "aria-label": says }, text);
    one.addEventListener("click", act);
    return one;
  };
  figure.before(html("div", { class: "controls zoom" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    button("Show all", "Show the whole iteration", () => view(0, 1)), range));

  function view(start, end) {
    const long = Math.min(1, Math.max(1 / Number(picture.dataset.zoom), end - start));
    from = Math.max(0, Math.min(start, 1 - long));
    to = from + long;
    const zoomed = to - from < 1;
    movers.forEach((move) => move(at));
    for (const { shape, from: wanted } of hiddenWords) shape.setAttribute("visibility", wanted * (to - from) <= 1 ? "visible" : "hidden");
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
    const [, size] = timeUnit(whole), step = linearTicks((to - from) * whole / size, 8)[1] * size;
    const shapes = [svg("line", { class: "foot", x1: left, x2: left + across, y1: foot, y2: foot })];
    for (let i = Math.ceil(from * whole / step - 1e-9); i * step <= to * whole * (1 + 1e-12); ++i) {
      const x = at(left + across * i * step / whole);
      shapes.push(svg("line", { class: "fine", x1: x, x2: x, y1: top, y2: foot }),
        svg("text", { x, y: foot + 15, "font-size": 10, "text-anchor": "middle" }, digits(i * step / size, 8)));
    }
    return shapes;
  }

  const choose = (shape, x, y) => {
    chosen?.classList.remove("chosen");
    chosen = shape;
    if (!shape) return hideTip();
    shape.classList.add("chosen");
    return showTip(x, y, shape.dataset.says, []);
  };
  /** To the next box of the row, or to the box of the next row that is there at the same time. */
  function step(along, down) {
    const box = boxes.find(({ shape }) => shape === chosen);
    const row = box ? rowsOfBoxes[Math.max(0, Math.min(rowsOfBoxes.length - 1, rowsOfBoxes.indexOf(box.y) + down))] : rowsOfBoxes[0];
    const list = boxes.filter(({ y }) => y === row);
    const index = box && !down ? list.indexOf(box) + along : list.findIndex((one) => one.to > (box ? box.from : left + from * across) + 0.005);
    const next = list[Math.max(0, Math.min(list.length - 1, index))], middle = ((next.from + next.to) / 2 - left) / across;
    if (middle < from || middle > to) view(middle - (to - from) / 2, middle + (to - from) / 2);
    const place = next.shape.getBoundingClientRect();
    choose(next.shape, place.left + Math.min(place.width, 40) / 2, place.bottom);
  }

  /** Where an event is, in parts of what is seen of the field. */
  const partOf = (event) => {
    const box = picture.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width * widthOfPage - left) / across;
  };
  const pointAt = ({ target, clientX, clientY }) => choose(target.dataset.says ? target : null, clientX, clientY);
  const pointers = new Map();
  picture.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, partOf(event));
    pointAt(event);
    picture.setPointerCapture(event.pointerId);
    picture.classList.add("moving");
  });
  for (const end of ["pointerup", "pointercancel"])
    picture.addEventListener(end, (event) => {
      pointers.delete(event.pointerId);
      picture.classList.remove("moving");
    });
  picture.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return pointAt(event);
    const before = [...pointers.values()], was = pointers.get(event.pointerId);
    pointers.set(event.pointerId, partOf(event));
    if (pointers.size === 1) return view(from - (partOf(event) - was) * (to - from), to - (partOf(event) - was) * (to - from));
    const now = [...pointers.values()], spread = ([a, b]) => Math.max(Math.abs(a - b), 0.01);
    return zoom(spread(before) / spread(now), (now[0] + now[1]) / 2);
  });
  for (const end of ["pointerleave", "blur"]) picture.addEventListener(end, () => choose(null));
  picture.addEventListener("wheel", (event) => {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      if (to - from >= 1) return undefined;
      event.preventDefault();
      const shift = event.deltaX / across * (to - from);
      return view(from + shift, to + shift);
    }
    if (event.deltaY > 0 && to - from >= 1) return undefined; // the page scrolls on
    event.preventDefault();
    return zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 300))), partOf(event));
  }, { passive: false });
  picture.addEventListener("keydown", (event) => {
    const long = to - from;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.shiftKey && arrow) step(...arrow);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-" || event.key === "_") zoom(2);
    else if (event.key === "0" || event.key === "Home") view(0, 1);
    else if (event.key === "Escape") choose(null);
    else if (arrow && arrow[0]) view(from + arrow[0] * long / 5, to + arrow[0] * long / 5);
    else return;
    event.preventDefault();
  });
  view(0, 1);
}
