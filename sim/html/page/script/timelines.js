// Rows simulated again: what happens when, to zoom and pan.

const PS = 1e-12;
const LANE = 22, NAME = 17, TITLE = 24, GAP = 8, AXIS = 26, MEMORY = 58;
const MOST_LANES = 16; // of one kind

const KINDS = { backward: "backward pass", "input-gradient": "input gradient", "weight-gradient": "weight gradient", forward: "forward pass", update: "optimizer's update", copy: "copy", collective: "collective", other: "compression" };
const kindOf = (category) => {
  const kind = category.replace(" ", "-");
  return kind in KINDS ? kind : "other";
};
const isComputing = ({ spans }) => spans.some(([category]) => category === "backward" || category === "forward");

/** A lane as drawn: its name and boxes {kind, start, end, name, bytes, waited, batch}. Gaps in computing are boxes, too, but in a pipeline. */
function readLane(lane, processes, pipeline) {
  const { process, thread, spans } = lane;
  const boxes = [];
  let until = spans[0][1];
  const computes = isComputing(lane);
  for (const [category, start, length, name, size, waited, batch] of spans) {
    if (computes && !pipeline && start > until) boxes.push({ kind: "wait", start: until, end: start, name: "waits for communication" });
    boxes.push({ kind: kindOf(category), start, end: start + length, name, size, waited, batch });
    until = Math.max(until, start + length);
  }
  return { name: computes && processes > 1 ? process : computes ? `${thread}: ${process}` : thread, boxes, computes, numbered: computes && pipeline };
}

let common = false; // whether all timelines of a figure are on one scale
const redraws = []; // of each figure

function makeTimelines() {
  if (!data.timelines.length) return;
  byId("timelines").hidden = false;
  const groups = new Map();
  for (const timeline of data.timelines) {
    const row = rows[timeline.row];
    const key = `${row.profile} on ${row.cluster}, ${row.workers} workers, ${coded ? "" : `${row.collective}, `}${row.fidelity}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({ ...timeline, row });
  }
  const kinds = new Set();
  for (const [title, timelines] of groups) {
    const heading = html("h3", {}, title);
    if (isGuess(timelines[0].row)) heading.append(html("span", { class: "badge" }, timelines[0].row.origin));
    const figure = html("figure", {}, heading);
    const drawn = timelines.filter(({ lanes }) => lanes);
    for (const { problem, row, fastest: first } of timelines.filter((one) => one.problem))
      figure.append(html("p", { class: "warning" }, `No timeline of ${row.series}, the ${first ? "fastest" : "slowest"}: ${problem}`));
    byId("figures").append(figure);
    if (drawn.length) redraws.push(drawTimeline(figure, drawn, title, kinds));
  }
  const inCommon = redraws.some(({ several }) => several);
  byId("scales").hidden = !inCommon;
  for (const box of document.querySelectorAll("input[name=scale]"))
    box.addEventListener("change", () => { common = box.value === "common"; redraws.forEach(({ redraw }) => redraw()); });
  const swatch = (kind) => svg("svg", { width: 18, height: 12, class: "timeline", "aria-hidden": "true" },
    kind === "wait" ? svg("rect", { class: "wait", width: 18, height: 12 }) : svg("rect", { width: 18, height: 12, fill: `var(--${kind})` }));
  const named = { ...KINDS, wait: "exposed: computing waits for communication" };
  byId("kinds").replaceChildren(...Object.keys(named).filter((kind) => kinds.has(kind)).map((kind) => html("span", {}, swatch(kind), named[kind])));
  if (data.leftOut) byId("figures").append(html("p", { class: "note" },
    `${data.leftOut} more rows, the fastest and slowest elsewhere, are not drawn; --timelines ${data.timelines.length + data.leftOut} draws all.`));
}

function drawTimeline(figure, timelines, title, kinds) {
  // What stands where, from top to bottom.
  const lanes = [];
  const memories = []; // {y, curves, most} of workers' memory
  const sends = []; // {from, to, start, end} between lanes
  const texts = [];
  const axes = []; // {y, whole} below each timeline
  let height = 0;
  for (const { lanes: read, memory, sends: sent, row, fastest: first } of timelines) {
    height += TITLE;
    const short = `${row.series}: ${duration(row.iteration_s)}, ${duration(row.exposed_comm_s)} exposed`;
    const text = `${row.series}, the ${first ? "fastest" : "slowest"}: ${duration(row.iteration_s)} an iteration, ${duration(row.exposed_comm_s)} exposed`;
    texts.push({ y: height - 8, text, short, bold: true });
    const processes = read.filter(isComputing).length;
    const list = read.map((lane) => readLane(lane, processes, Boolean(sent)));
    const scale = { whole: Math.max(...list.flatMap(({ boxes }) => boxes.map(({ end }) => end))) };
    for (const computes of [true, false]) {
      const some = list.filter((lane) => lane.computes === computes);
      for (const lane of some.slice(0, MOST_LANES)) {
        height += NAME;
        texts.push({ y: height - 5, text: lane.name });
        lanes.push({ ...lane, y: height, scale });
        height += LANE;
        lane.boxes.forEach(({ kind }) => kinds.add(kind));
      }
      if (some.length > MOST_LANES) {
        height += NAME;
        texts.push({ y: height - 5, text: `and ${some.length - MOST_LANES} more` });
      }
    }
    const ranks = lanes.filter((lane) => lane.scale === scale && lane.computes);
    for (const [from, to, start, length] of sent ?? [])
      if (ranks[from] && ranks[to]) sends.push({ from: ranks[from], to: ranks[to], start, end: start + length });
    if (memory) {
      const mostOf = ({ course }) => course.reduce((most, [, size]) => Math.max(most, size), 0);
      const curves = [...memory].sort((a, b) => mostOf(b) - mostOf(a));
      const most = mostOf(curves[0]);
      height += NAME;
      texts.push({ y: height - 5, text: `memory of ${curves.length > 1 ? curves[0].process : "a worker"}: at most ${bytes(most)}${curves.length > 1 ? "; of the others as lines" : ""}` });
      memories.push({ y: height, curves, most, scale });
      height += MEMORY;
    }
    height += 4;
    axes.push({ y: height, scale });
    height += AXIS + GAP;
  }
  // What is seen, from 0 to 1 of each timeline's own length, or of the longest one's.
  const longest = Math.max(...axes.map(({ scale }) => scale.whole));
  const several = axes.length > 1;
  const wholeOf = (scale) => (common ? longest : scale.whole);
  const least = Math.min(1, 1e4 / longest); // 10 ns across
  let from = 0, to = 1, width = 600, chosen = null;

  const picture = svg("svg", { class: "timeline", tabindex: 0, role: "application",
    "aria-label": `Timeline of ${title}. Plus and minus zoom, arrows move, 0 shows all, shift and arrows go from box to box.` });
  const range = html("output", { role: "status" });
  const button = (text, name, act) => {
    const one = html("button", { type: "button", title: name, "aria-label": name }, text);
    one.addEventListener("click", act);
    return one;
  };
  figure.append(html("div", { class: "controls zoom" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    button("Show all", "Show the whole iteration", () => view(0, 1)), range), picture);

  const x = (time, scale) => (time / wholeOf(scale) - from) / (to - from) * width;
  const timesOf = (scale) => [from * wholeOf(scale), to * wholeOf(scale)];

  function view(start, end) {
    const long = Math.min(1, Math.max(least, end - start));
    from = Math.max(0, Math.min(start, 1 - long));
    to = from + long;
    draw();
  }
  function zoom(factor, at = 0.5) {
    const middle = from + at * (to - from);
    view(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  function drawLane({ boxes, y, scale, numbered }, into) {
    const [start, end] = timesOf(scale);
    let painted = -1, kind = "";
    for (const box of boxes) {
      if (box.end < start || box.start > end) continue;
      const left = Math.max(x(box.start, scale), -2), right = Math.min(x(box.end, scale), width + 2);
      if (right < painted + 0.3 && kind === box.kind) continue; // too narrow to be seen beside the last
      painted = right;
      kind = box.kind;
      into.push(svg("rect", { class: box.kind === "wait" ? "wait" : right - left > 3 ? "edged" : null, x: left.toFixed(2), y, width: Math.max(right - left, 0.4).toFixed(2), height: LANE,
        fill: box.kind === "wait" ? null : `var(--${box.kind})` }));
      const seen = Math.min(right, width) - Math.max(left, 0), fits = Math.floor((seen - 8) / 6.3);
      const number = String(box.batch ?? "");
      if (numbered && fits < box.name.length) {
        if (number && seen >= 6.3 * number.length + 1) into.push(svg("text", { class: "name", x: ((Math.max(left, 0) + Math.min(right, width)) / 2).toFixed(2), y: y + 15,
          "text-anchor": "middle", style: `fill:var(--on-${box.kind})` }, number));
      } else if ((fits >= 4 || numbered) && box.kind !== "wait")
        into.push(svg("text", { class: "name", x: (Math.max(left, 0) + 4).toFixed(2), y: y + 15, style: `fill:var(--on-${box.kind})` },
          box.name.length > fits ? `${box.name.slice(0, fits - 1)}…` : box.name));
    }
  }

  /** From lane to lane, with a head; one in each pixel. */
  function drawSends(into) {
    const last = new Map(); // by the two lanes
    for (const { from, to, start, end } of sends) {
      const left = x(start, from.scale), right = x(end, from.scale), key = `${from.y} ${to.y}`;
      if (right < 0 || left > width || right < (last.get(key) ?? -2) + 1) continue;
      last.set(key, right);
      const down = to.y > from.y, top = to.y + (down ? 0 : LANE), back = top + (down ? -4 : 4);
      into.push(svg("path", { class: "send", d: `M${left.toFixed(2)} ${from.y + (down ? LANE : 0)}L${right.toFixed(2)} ${top}M${(right - 2).toFixed(2)} ${back}L${right.toFixed(2)} ${top}L${(right + 2).toFixed(2)} ${back}` }));
    }
  }

  /** The first curve as an area, the others as lines. */
  function drawMemory({ y, curves, most, scale }, into) {
    into.push(svg("rect", { class: "band", x: 0, y, width, height: MEMORY }));
    for (const { course } of curves) {
      const steps = stepsOf(course, y, most, scale), first = course === curves[0].course;
      into.push(svg("path", { class: first ? "memory" : "memory other", d: first ? `M0 ${y + MEMORY}V${steps}H${width}V${y + MEMORY}Z` : `M0 ${steps}H${width}` }));
    }
  }

  /** From the height at the left edge on: the most of each pixel, so that no peak is lost. */
  function stepsOf(course, y, most, scale) {
    const [start, end] = timesOf(scale);
    const level = (size) => (y + MEMORY * (1 - size / most)).toFixed(2);
    const highest = new Map(); // by pixel
    let last = course[0][1];
    for (const [time, size] of course) {
      if (time < start) last = size;
      const pixel = Math.round(x(time, scale));
      if (time >= start && time <= end) highest.set(pixel, { most: Math.max(size, highest.get(pixel)?.most ?? 0), last: size });
    }
    let path = level(last);
    for (const [pixel, { most: top, last: left }] of highest) path += `H${pixel}V${level(top)}V${level(left)}`;
    return path;
  }

  function draw() {
    const into = [];
    for (const memory of memories) drawMemory(memory, into);
    for (const { y } of lanes) into.push(svg("rect", { class: "band", x: 0, y, width, height: LANE }));
    drawSends(into);
    for (const lane of lanes) drawLane(lane, into);
    for (const { y, text: long, short, bold } of texts) {
      const fits = Math.floor(width / (bold ? 7.3 : 6.2));
      const text = long.length > fits && short ? short : long;
      into.push(svg("text", { x: 0, y, class: bold ? null : "soft", "font-weight": bold ? 600 : null, style: bold ? null : "font-size:11px" },
        text.length > fits ? `${text.slice(0, fits - 1)}…` : text));
    }
    for (const axis of axes) drawAxis(axis, into);
    if (chosen) {
      const { box: { start, end }, lane: { y, scale } } = chosen;
      into.push(svg("rect", { class: "chosen", x: x(start, scale), y, width: Math.max(x(end, scale) - x(start, scale), 2), height: LANE }));
    }
    fill(picture, { viewBox: `0 0 ${width} ${height}` }, []);
    picture.replaceChildren(svg("svg", { x: 0, y: 0, width, height, style: "overflow:hidden" }, ...into));
    range.textContent = several && !common && from === 0 && to === 1 ? "all of each iteration" : several && !common ? `${percent(from)} to ${percent(to)} of each iteration`
      : `${duration(from * longest * PS)} to ${duration(to * longest * PS)} of ${duration(longest * PS)}`;
  }

  function drawAxis({ y, scale }, into) {
    const [start, end] = timesOf(scale).map((time) => time * PS);
    const [unit, size] = timeUnit(end - start);
    const step = linearTicks((end - start) / size, Math.max(2, Math.floor(width / 110)))[1];
    into.push(svg("line", { class: "axis", x1: 0, x2: width, y1: y, y2: y }));
    for (let i = Math.ceil(start / size / step - 1e-9); i * step * size <= end * (1 + 1e-12); ++i) {
      const at = x(i * step * size / PS, scale), text = `${digits(i * step, 8)} ${unit}`;
      into.push(svg("line", { class: "axis", x1: at, x2: at, y1: y, y2: y + 5 }),
        svg("text", { class: "soft", x: at, y: y + 18, "text-anchor": at < 24 ? "start" : at > width - 30 ? "end" : "middle" }, text));
    }
  }

  // One box and its tip.
  const tellBox = (lane, box, clientX, clientY) => {
    chosen = { lane, box };
    const pairs = [["starts at", duration(box.start * PS)], ["takes", duration((box.end - box.start) * PS)]];
    if (typeof box.batch === "number") pairs.push(["micro-batch", box.batch]);
    if (typeof box.size === "number") pairs.push(["bytes", bytes(box.size)]);
    if (typeof box.waited === "number") pairs.push(["waited", duration(box.waited * PS)]);
    showTip(clientX, clientY, box.name, pairs);
  };
  const forget = () => {
    hideTip();
    if (chosen) {
      chosen = null;
      draw();
    }
  };
  const placeIn = (event) => {
    const box = picture.getBoundingClientRect();
    return { at: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.width * width };
  };

  const pointers = new Map();
  picture.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, placeIn(event).at);
    picture.setPointerCapture(event.pointerId);
    picture.classList.add("moving");
  });
  for (const end of ["pointerup", "pointercancel"])
    picture.addEventListener(end, (event) => {
      pointers.delete(event.pointerId);
      picture.classList.remove("moving");
    });
  picture.addEventListener("pointermove", (event) => {
    const { at, y } = placeIn(event);
    if (!pointers.has(event.pointerId)) {
      const lane = lanes.find((one) => y >= one.y && y < one.y + LANE);
      const time = lane && (from + at * (to - from)) * wholeOf(lane.scale);
      const box = lane?.boxes.findLast((one) => one.start <= time && time <= one.end);
      if (!box) return forget();
      const fresh = chosen?.box !== box;
      tellBox(lane, box, event.clientX, event.clientY);
      if (fresh) draw();
      return undefined;
    }
    const before = [...pointers.values()];
    const was = pointers.get(event.pointerId);
    pointers.set(event.pointerId, at);
    if (pointers.size === 1) return view(from - (at - was) * (to - from), to - (at - was) * (to - from));
    const now = [...pointers.values()];
    const spread = ([a, b]) => Math.max(Math.abs(a - b), 0.01);
    return zoom(spread(before) / spread(now), (now[0] + now[1]) / 2);
  });
  picture.addEventListener("pointerleave", forget);
  picture.addEventListener("blur", forget);
  picture.addEventListener("wheel", (event) => {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const shift = event.deltaX / width * (to - from);
      return view(from + shift, to + shift);
    }
    if (event.deltaY > 0 && to - from >= 1) return undefined; // the page scrolls on
    event.preventDefault();
    return zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 300))), placeIn(event).at);
  }, { passive: false });
  picture.addEventListener("keydown", (event) => {
    const long = to - from;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.shiftKey && arrow) step(...arrow);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-" || event.key === "_") zoom(2);
    else if (event.key === "0" || event.key === "Home") view(0, 1);
    else if (event.key === "Escape") forget();
    else if (arrow && arrow[0]) view(from + arrow[0] * long / 5, to + arrow[0] * long / 5);
    else return;
    event.preventDefault();
  });

  /** To the next box of the lane, or to the box of the next lane that is there at the same time. */
  function step(along, down) {
    const lane = chosen ? lanes[Math.max(0, Math.min(lanes.length - 1, lanes.indexOf(chosen.lane) + down))] : lanes[0];
    const { boxes } = lane;
    const since = chosen ? chosen.box.start / wholeOf(chosen.lane.scale) : from;
    let index = chosen && !down ? boxes.indexOf(chosen.box) + along : boxes.findIndex(({ end }) => end / wholeOf(lane.scale) > since);
    index = Math.max(0, Math.min(boxes.length - 1, index));
    const box = boxes[index];
    const middle = (box.start + box.end) / 2 / wholeOf(lane.scale);
    chosen = { lane, box };
    if (middle < from || middle > to) view(middle - (to - from) / 2, middle + (to - from) / 2);
    else draw();
    const place = picture.getBoundingClientRect(), scale = place.width / width;
    tellBox(lane, box, place.left + Math.max(0, Math.min(width, (middle - from) / (to - from) * width)) * scale, place.top + (lane.y + LANE) * scale);
  }

  const redraw = () => {
    width = onPaper || figure.clientWidth || width;
    draw();
  };
  new ResizeObserver(() => { if (!onPaper && figure.clientWidth && figure.clientWidth !== width) redraw(); }).observe(figure);
  redraw();
  return { several, redraw };
}
