// One panel as lines, as groups of columns or as bars.

/** What an ideal would be, at a place; null where there is none. */
function idealOf(axis) {
  if (plot.ideal === false) return null;
  if (measure === "efficiency" || (measure === "own" && plot.over)) return () => 1;
  return measure === "speedup" && chart.x === "workers" && axis.numeric ? Number : null;
}

const MOST_COLUMNS = 8; // places, where "plot" asks for columns over numbers
const areColumns = (axis) => !axis.numeric || (["columns", "bars"].includes(plot.kind) && axis.places.length <= MOST_COLUMNS);

const frame = (width, height, label) => svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", tabindex: 0, role: "group", "aria-label": label });

/** Ticks of the vertical axis, what it is called, and the line at its foot. */
function addVertical(picture, { ticks, title }, texts, py, { left, width, right, foot }) {
  ticks.forEach((tick, i) => picture.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: py(tick), y2: py(tick) }),
    svg("text", { x: left - 6, y: py(tick) + 4, "text-anchor": "end", class: "soft" }, texts[i])));
  picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: foot, y2: foot }), svg("text", { x: 0, y: 12 }, title));
}
const widthOf = (texts) => 10 + 7.2 * Math.max(...texts.map((text) => text.length));

/** A cross over what does not fit. */
const CROSS = "M-4.2-4.2L4.2 4.2M-4.2 4.2L4.2-4.2";
const cross = (row, x, y) => (row.fits ? [] : ["halo", "cross"].map((name) => svg("path", { class: name, d: CROSS, transform: `translate(${x} ${y})` })));

function drawLines(list, axis, width, title) {
  const height = onPaper ? (width > 400 ? 260 : 175) : Math.round(Math.min(340, Math.max(230, 0.62 * width)));
  const ideal = idealOf(axis);
  const values = list.flatMap(({ points }) => points.map(({ value }) => value));
  const vertical = verticalAxis(ideal && measure !== "efficiency" ? [...values, ...axis.places.map(ideal)] : values, axis.logarithmic);
  const tickTexts = vertical.ticks.map(vertical.write);
  const left = widthOf(tickTexts), right = 14, top = 26, bottom = 40, foot = height - bottom;
  const across = width - left - right, down = foot - top;
  const px = (place) => left + 4 + (across - 8) * (axis.places.length > 1 ? axis.at(place) : 0.5);
  const py = (value) => top + down * (1 - vertical.at(value));
  const picture = frame(width, height, `${title}: ${MEASURES[measure].name} by ${axisName(chart.x)}. Arrow keys go from point to point.`);
  addVertical(picture, vertical, tickTexts, py, { left, width, right, foot });
  let until = -Infinity;
  axis.places.forEach((place, i) => {
    const x = px(place), half = 3.8 * place.length + 4;
    if (x - half < until || (i < axis.places.length - 1 && x + half > px(axis.places.at(-1)) - 3.8 * axis.places.at(-1).length)) return;
    until = x + half;
    picture.append(svg("line", { class: "axis", x1: x, x2: x, y1: foot, y2: foot + 5 }),
      svg("text", { x, y: foot + 19, "text-anchor": "middle", class: "soft" }, place));
  });
  picture.append(svg("text", { x: left + across / 2, y: height - 4, "text-anchor": "middle" }, axisName(chart.x)));
  if (ideal) picture.append(svg("polyline", { class: "ideal", points: axis.places.map((place) => `${px(place)},${py(ideal(place))}`).join(" ") }));
  const targets = [];
  for (const { name, points } of list) {
    const line = points.map(({ place, value }) => `${px(place)},${py(value)}`).join(" ");
    picture.append(svg("polyline", { points: line, fill: "none", stroke: look(name).colour, "stroke-width": 1.8, "stroke-dasharray": look(name).dash }));
    for (const { place, row, value } of points) {
      picture.append(marker(look(name), px(place), py(value)), ...cross(row, px(place), py(value)));
      targets.push({ x: px(place), y: py(value), row, name });
    }
  }
  makeExplorable(picture, targets, width);
  return picture;
}

/** The text in at most three lines of at most `most` letters, broken behind hyphens, commas and blanks. */
function broken(text, most) {
  const lines = [""];
  for (const piece of text.split(/(?<=[-_, ])/).flatMap((one) => one.match(new RegExp(`.{1,${Math.max(most, 3)}}`, "g")) ?? []))
    if ((lines.at(-1) + piece).trimEnd().length <= most || !lines.at(-1)) lines[lines.length - 1] += piece;
    else lines.push(piece);
  return lines.length <= 3 ? lines : [...lines.slice(0, 2), `${lines[2].slice(0, Math.max(most, 3) - 1)}…`];
}

/** A group of columns for each place, a column for each series. */
function drawColumns(list, axis, width, title) {
  const values = list.flatMap(({ points }) => points.map(({ value }) => value));
  const vertical = verticalAxis(values, false, true);
  const tickTexts = vertical.ticks.map(vertical.write);
  const left = widthOf(tickTexts), right = 6, top = 36;
  const pitch = (width - left - right) / axis.places.length, thick = Math.min(48, 0.84 * pitch / list.length);
  const names = axis.places.map((place) => broken(place, Math.floor(pitch / 7.6)));
  const height = onPaper ? (width > 400 ? 240 : 190) : Math.round(Math.min(320, Math.max(240, 0.55 * width))), lines = Math.max(...names.map((one) => one.length));
  const foot = height - 24 - 14 * lines;
  const py = (value) => top + (foot - top) * (1 - vertical.at(value));
  const picture = frame(width, height, `${title}: ${MEASURES[measure].name} by ${axisName(chart.x)}. Arrow keys go from column to column.`);
  addVertical(picture, vertical, tickTexts, py, { left, width, right, foot });
  picture.append(svg("text", { x: left + (width - left - right) / 2, y: height - 4, "text-anchor": "middle" }, axisName(chart.x)));
  const written = (value) => vertical.write(Number(value.toPrecision(3)));
  const areWritten = 6.8 * Math.max(...values.map((value) => written(value).length)) < thick;
  const targets = [];
  axis.places.forEach((place, group) => {
    const middle = left + pitch * (group + 0.5);
    names[group].forEach((line, i) => picture.append(svg("text", { class: "soft", x: middle, y: foot + 16 + 14 * i, "text-anchor": "middle" }, line.trim())));
    list.forEach(({ name, points }, index) => {
      const point = points.find((one) => one.place === place);
      if (!point) return;
      const x = middle + thick * (index - list.length / 2), y = py(Math.max(point.value, 0));
      picture.append(bar(look(name), x, y, Math.max(thick - (thick > 6 ? 1 : 0), 1), Math.max(foot - y, 0.5)));
      if (areWritten) picture.append(svg("text", { x: x + thick / 2, y: y - 4, "text-anchor": "middle", class: "value" }, written(point.value)));
      picture.append(...cross(point.row, x + thick / 2, y + 7));
      targets.push({ x: x + thick / 2, y, row: point.row, name });
    });
  });
  makeExplorable(picture, targets, width, "across");
  return picture;
}

function drawBars(list, axis, width, title) {
  const severalPlaces = axis.places.length > 1 && chart.x !== "index";
  const pitch = onPaper ? 28 : 32, left = 0, axisHeight = 22;
  const height = axisHeight + pitch * list.length;
  const values = list.map(({ points }) => points[0].value);
  const most = Math.max(...values, 0) || 1;
  const picture = frame(width, height, `${title}: ${MEASURES[measure].name}. Arrow keys go from bar to bar.`);
  picture.append(svg("text", { x: 0, y: 12 }, MEASURES[measure].axis.replace(" (%)", "")));
  const targets = list.map(({ name, points: [{ place, row, value }] }, index) => {
    const y = axisHeight + pitch * index;
    const long = (width - 80) * Math.max(value, 0) / most;
    const text = severalPlaces && name !== place ? `${name}, ${place}` : name;
    const fits = Math.floor(width / 6.6);
    picture.append(svg("text", { x: 0, y: y + 11, class: "soft" }, text.length > fits ? `${text.slice(0, fits - 1)}…` : text),
      bar(lookOfStrategy(row.strategy), left, y + 15, Math.max(long, 1), 11, false),
      svg("text", { x: left + long + (row.fits ? 6 : 10), y: y + 25 }, MEASURES[measure].write(value)), ...cross(row, left + Math.max(long, 1), y + 20));
    return { x: left + long, y: y + 20, row, name };
  });
  makeExplorable(picture, targets, width, "down");
  return picture;
}

/** The nearest point tells its row, to pointer and arrow keys: of columns the nearest across, of bars down. */
function makeExplorable(picture, targets, width, near = "both") {
  const listed = near !== "both"; // one after the other, and no line to follow
  const ring = svg("circle", { class: "ring", r: 7, visibility: "hidden" });
  picture.append(ring);
  let current = -1;
  const choose = (index) => {
    current = index;
    const { x, y, row } = targets[index];
    fill(ring, { cx: x, cy: y, visibility: "visible" }, []);
    const box = picture.getBoundingClientRect(), scale = box.width / width;
    rowTip(box.left + x * scale, box.top + y * scale, row);
  };
  const leave = () => {
    ring.setAttribute("visibility", "hidden");
    hideTip();
  };
  const onPointer = (event) => {
    const box = picture.getBoundingClientRect(), scale = box.width / width;
    const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
    const distance = ({ x: tx, y: ty }) => Math.hypot(near === "down" ? 0 : tx - x, near === "across" ? 0 : ty - y);
    const nearest = targets.reduce((best, target, i) => (distance(target) < distance(targets[best]) ? i : best), 0);
    if (distance(targets[nearest]) < 60) choose(nearest);
    else leave();
  };
  picture.addEventListener("pointermove", onPointer);
  picture.addEventListener("pointerdown", onPointer);
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("focus", () => { if (picture.matches(":focus-visible")) choose(Math.max(current, 0)); });
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return leave();
    const along = { ArrowRight: 1, ArrowLeft: -1 }[event.key], aside = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!along && !aside) return undefined;
    event.preventDefault();
    if (current < 0) return choose(0);
    const from = targets[current];
    const same = (target) => listed || (along ? target.name === from.name : target.x === from.x);
    const line = targets.map((target, i) => ({ target, i })).filter(({ target }) => same(target));
    if (!listed) line.sort((a, b) => (along ? a.target.x - b.target.x : a.target.y - b.target.y));
    const next = line[line.findIndex(({ i }) => i === current) + (along ?? aside)];
    return choose(next ? next.i : current);
  });
}
