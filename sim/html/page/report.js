// The page of a sweep: charts, table and timelines from the JSON beside this script. See sim/html/report_page.cpp.
"use strict";
(() => {

const data = JSON.parse(document.getElementById("data").textContent);
const plot = data.plot ?? {};
const byId = (id) => document.getElementById(id);

// --- rows ------------------------------------------------------------------------------------------------------------

const rows = data.rows.map((cells, index) => {
  const row = { index, series: cells[data.columns.length] };
  data.columns.forEach((column, place) => { row[column] = cells[place]; });
  row.above = row.lower_bound_s > 0 ? row.iteration_s / row.lower_bound_s - 1 : null;
  return row;
});

const distinct = (list) => [...new Set(list)];
const label = (value) => plot.labels?.[value] ?? String(value);
const asList = (value) => (Array.isArray(value) ? value : [value]);
const isNumeric = (text) => text !== "" && Number.isFinite(Number(text));

// --- numbers as people read them -------------------------------------------------------------------------------------

const TIME_UNITS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
const timeUnit = (seconds) => TIME_UNITS.find(([, size]) => seconds >= size) ?? TIME_UNITS[3];
const SIZE_UNITS = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]];

const digits = (value, count = 4) => {
  if (value === 0) return "0";
  return String(Number(value.toPrecision(count)));
};
const duration = (seconds) => {
  if (seconds === 0) return "0 s";
  const [unit, size] = timeUnit(Math.abs(seconds));
  return `${digits(seconds / size)} ${unit}`;
};
const sizeUnit = (count) => SIZE_UNITS.find(([, one]) => count >= one) ?? SIZE_UNITS[3];
const bytes = (count) => {
  const [unit, size] = sizeUnit(count);
  return `${digits(count / size)} ${unit}`;
};
const tenths = (ratio) => (Math.round(1000 * ratio) / 10 + 0).toFixed(1); // "+ 0": never "-0.0"
const percent = (ratio) => `${tenths(ratio)} %`;

// --- elements --------------------------------------------------------------------------------------------------------

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

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

const GUESSES = ["reconstructed", "estimated"]; // origins of layer times that nobody measured
const isGuess = (row) => GUESSES.includes(row.origin);

function rowTip(x, y, row) {
  const pairs = [["profile", row.profile], ["cluster", row.cluster], ["workers", String(row.workers)], ["collective", row.collective],
    ["iteration", duration(row.iteration_s)], ["exposed comm.", duration(row.exposed_comm_s)],
    ["speed-up", digits(row.speedup)], ["efficiency", percent(row.efficiency)]];
  if (row.above !== null) pairs.push(["above bound", percent(row.above)]);
  if (isGuess(row)) pairs.push(["layer times", row.origin]);
  showTip(x, y, row.series, pairs);
}

// --- which rows are shown --------------------------------------------------------------------------------------------

const FACETS = [["profile", "Profile"], ["cluster", "Cluster"], ["series", "Strategy"], ["collective", "Collective"],
  ["fidelity", "Fidelity"], ["workers", "Workers"]];
const hidden = new Map(); // facet: values that are not shown
const isShown = (row) => FACETS.every(([key]) => !hidden.get(key)?.has(row[key]));

function makeFilters(changed) {
  for (const [key, title] of FACETS) {
    const values = distinct(rows.map((row) => row[key]));
    if (values.length < 2 || values.length > 200) continue;
    hidden.set(key, new Set());
    const boxes = values.map((value) => {
      const box = html("input", { type: "checkbox", "data-facet": key, value });
      box.checked = true;
      box.addEventListener("change", () => {
        if (box.checked) hidden.get(key).delete(value);
        else hidden.get(key).add(value);
        changed();
      });
      return html("label", {}, box, " ", String(value));
    });
    byId("choices").append(html("fieldset", {}, html("legend", {}, title), ...boxes));
  }
  byId("filters").hidden = hidden.size === 0;
}

// --- charts: grouping ------------------------------------------------------------------------------------------------

const coded = rows.some((row) => row.codec); // codecs bring collectives of their own, and are compared in one chart
const GROUPS = coded ? ["profile", "cluster", "fidelity"] : ["profile", "cluster", "collective", "fidelity"];

/** Panels of series of points, or null where two rows would be one point. */
function group(x, seriesOf, panelOf) {
  const panels = new Map();
  for (const row of rows) {
    const title = panelOf(row);
    if (!panels.has(title)) panels.set(title, new Map());
    const series = panels.get(title);
    const name = seriesOf(row);
    if (!series.has(name)) series.set(name, new Map());
    const place = label(row[x]);
    if (series.get(name).has(place)) return null;
    series.get(name).set(place, row);
  }
  return { x, panels };
}

function grouped() {
  const joined = (keys) => (row) => keys.map((key) => label(row[key])).join(", ");
  const known = (keys) => keys.every((key) => data.columns.includes(key));
  const planned = [asList(plot.x ?? "workers"), asList(plot.series ?? "strategy"), asList(plot.panels ?? "profile")];
  const byPlot = data.plot && planned.every(known) && group(planned[0][0], joined(planned[1]), joined(planned[2]));
  if (byPlot) return byPlot;
  const differ = GROUPS.filter((key) => distinct(rows.map((row) => row[key])).length > 1);
  const byFile = group("workers", (row) => row.series, joined(differ.length ? differ : ["profile"]));
  if (byFile) return byFile;
  return group("index", (row) => row.series, joined(differ.length ? differ : ["profile"])); // rows that stand there twice
}

const chart = grouped();

// --- charts: looks ---------------------------------------------------------------------------------------------------

// A strategy's place fixes its look, the same as in tools/plot.py.
const STRATEGIES = ["wfbp", "sync-easgd", "mg-wfbp", "optimal-merge", "s-sgd", "ddp", "horovod", "bytescheduler", "us-byte", "p3",
  "dear", "mergecomp", "best"];
const COLOURS = 7;
const DASHES = ["", "7 3", "4 2 1.5 2", "1.5 2.5", "9 2 1.5 2 1.5 2"];
const MARKERS = [ // around (0, 0)
  "M4 0A4 4 0 1 1 -4 0A4 4 0 1 1 4 0Z", "M-3.6 -3.6H3.6V3.6H-3.6Z", "M0 -4.6L4.4 3.4H-4.4Z", "M0 -5L5 0L0 5L-5 0Z",
  "M0 4.6L4.4 -3.4H-4.4Z", "M-1.4 -4.5H1.4V-1.4H4.5V1.4H1.4V4.5H-1.4V1.4H-4.5V-1.4H-1.4Z",
  "M-4 -2L-2 -4L0 -2L2 -4L4 -2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0Z", "M-4.6 0L3.4 -4.4V4.4Z", "M4.6 0L-3.4 -4.4V4.4Z"];

const seriesNames = distinct([...chart.panels.values()].flatMap((series) => [...series.keys()]));
const knownLabels = STRATEGIES.map(label);
const otherNames = seriesNames.filter((name) => !knownLabels.includes(name));
const shift = otherNames.length < seriesNames.length ? STRATEGIES.length : 0;
const placeOf = new Map(seriesNames.map((name) =>
  [name, knownLabels.includes(name) ? knownLabels.indexOf(name) : shift + otherNames.indexOf(name)]));

const colour = (name) => `var(--c${placeOf.get(name) % COLOURS})`;
const dash = (name) => DASHES[placeOf.get(name) % DASHES.length];
// Bars stand apart and are named; a colour groups those of a strategy.
const strategyNames = distinct([...STRATEGIES, ...rows.map((row) => row.strategy)]);
const barColour = (row) => `var(--c${strategyNames.indexOf(row.strategy) % COLOURS})`;
function marker(name, x, y) {
  const hollow = placeOf.get(name) % 2 === 1;
  return svg("path", { d: MARKERS[placeOf.get(name) % MARKERS.length], transform: `translate(${x} ${y})`, stroke: colour(name),
    "stroke-width": 1.4, fill: hollow ? "var(--page)" : colour(name) });
}

// --- charts: axes ----------------------------------------------------------------------------------------------------

const MEASURES = {
  speedup: { name: "Speed-up", axis: "speed-up over one worker", write: (v) => digits(v), of: (row) => row.speedup },
  efficiency: { name: "Efficiency", axis: "scaling efficiency (%)", write: percent, of: (row) => row.efficiency },
  iteration: { name: "Iteration time", axis: "time per iteration", time: true, write: duration, of: (row) => row.iteration_s },
  exposed: { name: "Exposed communication", axis: "exposed communication per iteration", time: true, write: duration, of: (row) => row.exposed_comm_s },
  above: { name: "Above the lower bound", axis: "above the lower bound (%)", write: percent, of: (row) => row.above },
};
let measure = { efficiency: "efficiency", bars: "iteration", columns: "iteration", histogram: "iteration" }[plot.kind] ?? "speedup";

/** About `count` round numbers from 0 to `top`; the last is at least `top`. */
function linearTicks(top, count) {
  const rough = top / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const ticks = [];
  for (let i = 0; i === 0 || ticks.at(-1) < top * 0.9999; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high, count) {
  const from = Math.floor(Math.log2(low) + 1e-9);
  const to = Math.max(Math.ceil(Math.log2(high) - 1e-9), from + 1);
  const step = Math.ceil((to - from) / count);
  const ticks = [];
  for (let power = from; power < to + step; power += step) ticks.push(2 ** power);
  return ticks;
}

/** The vertical axis: ticks, where a value stands from 0 to 1, and what it is called. */
function verticalAxis(values, logarithmic) {
  const { time, axis } = MEASURES[measure];
  const positive = values.filter((value) => value > 0);
  const most = Math.max(...values, 0) || 1;
  if (measure === "efficiency" || measure === "above") {
    const ticks = linearTicks(Math.max(measure === "efficiency" ? 1 : 0, most), 5);
    return { ticks, at: (v) => v / ticks.at(-1), write: (v) => digits(100 * v), title: axis };
  }
  const wide = positive.length === values.length && (measure === "speedup" ? logarithmic : most / Math.min(...positive) > 12);
  const [unit, size] = time ? timeUnit(wide ? Math.min(...positive) : most) : ["", 1];
  const ticks = wide ? logTicks(Math.min(...positive) / size, most / size, 8).map((tick) => tick * size) : linearTicks(most / size, 5).map((tick) => tick * size);
  const at = wide ? (v) => Math.log(v / ticks[0]) / Math.log(ticks.at(-1) / ticks[0]) : (v) => v / ticks.at(-1);
  return { ticks, at, write: (v) => digits(v / size, 6), title: unit ? `${axis} (${unit})` : axis };
}

/** The horizontal axis: places in order, and where one stands from 0 to 1. */
function horizontalAxis(places) {
  const numeric = places.every(isNumeric);
  const sorted = numeric ? [...places].sort((a, b) => a - b) : places;
  const logarithmic = numeric && plot.log !== false && Number(sorted[0]) > 0;
  const value = numeric ? (logarithmic ? (place) => Math.log2(place) : Number) : (place) => sorted.indexOf(place);
  const low = value(sorted[0]);
  const across = value(sorted.at(-1)) - low || 1;
  return { places: sorted, at: (place) => (value(place) - low) / across, numeric, logarithmic };
}

const axisName = (column) => plot.labels?.[column] ?? column.replace(/_s$/, "").replaceAll("_", " ");

// --- charts: drawing -------------------------------------------------------------------------------------------------

/** The series of a panel that are shown: {name, points: [{place, row, value}]}. */
function visibleSeries(series, axis) {
  const list = [];
  for (const [name, points] of series) {
    const shown = [...points].map(([place, row]) => ({ place, row, value: MEASURES[measure].of(row) }))
      .filter(({ row, value }) => isShown(row) && value !== null);
    if (axis) shown.sort((a, b) => axis.at(a.place) - axis.at(b.place));
    if (shown.length) list.push({ name, points: shown });
  }
  return list;
}

const MOST_LINES = 12;
const MOST_BARS = 24;

/** Of many series those that are fastest in their last point, and how many are left out. */
function fastest(list, most) {
  if (list.length <= most) return [list, 0];
  const kept = new Set([...list].sort((a, b) => a.points.at(-1).row.iteration_s - b.points.at(-1).row.iteration_s).slice(0, most));
  return [list.filter((one) => kept.has(one)), list.length - most];
}

function drawPanel(title, series, width) {
  const places = distinct([...series.values()].flatMap((points) => [...points].filter(([, row]) => isShown(row)).map(([place]) => place)));
  if (!places.length) return null;
  const axis = horizontalAxis(places);
  const all = visibleSeries(series, axis);
  const lines = all.some(({ points }) => points.length > 1);
  const [list, leftOut] = fastest(all, lines ? MOST_LINES : MOST_BARS);
  const members = [...series.values()].flatMap((points) => [...points.values()]);
  const heading = html("h3", {}, title);
  for (const origin of GUESSES) {
    const guessed = members.filter((row) => row.origin === origin).length;
    if (guessed) heading.append(html("span", { class: "badge", title: "layer times are inferred, not measured" }, guessed === members.length ? origin : `partly ${origin}`));
  }
  const figure = html("figure", {}, heading);
  if (!list.length) figure.append(html("p", { class: "note" }, "No row has this number."));
  else figure.append(lines ? drawLines(list, axis, width, title) : drawBars(list, places.length > 1, width, title));
  if (leftOut) figure.append(html("p", { class: "note" }, `The ${list.length} fastest of ${list.length + leftOut}; the table has all.`));
  return figure;
}

function drawLines(list, axis, width, title) {
  const height = Math.round(Math.min(340, Math.max(230, 0.62 * width)));
  const ideal = plot.ideal !== false && (measure === "efficiency" || (measure === "speedup" && chart.x === "workers" && axis.numeric));
  const values = list.flatMap(({ points }) => points.map(({ value }) => value));
  const vertical = verticalAxis(ideal && measure === "speedup" ? [...values, ...axis.places.map(Number)] : values, axis.logarithmic);
  const tickTexts = vertical.ticks.map(vertical.write);
  const left = 10 + 7.2 * Math.max(...tickTexts.map((text) => text.length)), right = 14, top = 26, bottom = 40;
  const across = width - left - right, down = height - top - bottom;
  const px = (place) => left + 4 + (across - 8) * (axis.places.length > 1 ? axis.at(place) : 0.5);
  const py = (value) => top + down * (1 - vertical.at(value));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", tabindex: 0, role: "group",
    "aria-label": `${title}: ${MEASURES[measure].name} by ${axisName(chart.x)}. Arrow keys go from point to point.` });
  vertical.ticks.forEach((tick, i) => picture.append(
    svg("line", { class: "grid", x1: left, x2: width - right, y1: py(tick), y2: py(tick) }),
    svg("text", { x: left - 6, y: py(tick) + 4, "text-anchor": "end", class: "soft" }, tickTexts[i])));
  let until = -Infinity;
  axis.places.forEach((place, i) => {
    const x = px(place), half = 3.8 * place.length + 4;
    if (x - half < until || (i < axis.places.length - 1 && x + half > px(axis.places.at(-1)) - 3.8 * axis.places.at(-1).length)) return;
    until = x + half;
    picture.append(svg("line", { class: "axis", x1: x, x2: x, y1: height - bottom, y2: height - bottom + 5 }),
      svg("text", { x, y: height - bottom + 19, "text-anchor": "middle", class: "soft" }, place));
  });
  picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    svg("text", { x: 0, y: 12 }, vertical.title),
    svg("text", { x: left + across / 2, y: height - 4, "text-anchor": "middle" }, axisName(chart.x)));
  if (ideal) {
    const at = (place) => `${px(place)},${py(measure === "speedup" ? Number(place) : 1)}`;
    picture.append(svg("polyline", { class: "ideal", points: axis.places.map(at).join(" ") }));
  }
  const targets = [];
  for (const { name, points } of list) {
    const line = points.map(({ place, value }) => `${px(place)},${py(value)}`).join(" ");
    picture.append(svg("polyline", { points: line, fill: "none", stroke: colour(name), "stroke-width": 1.8, "stroke-dasharray": dash(name) }));
    for (const { place, row, value } of points) {
      picture.append(marker(name, px(place), py(value)));
      targets.push({ x: px(place), y: py(value), row, name });
    }
  }
  makeExplorable(picture, targets, width);
  return picture;
}

function drawBars(list, severalPlaces, width, title) {
  const pitch = 32, left = 0, axisHeight = 22;
  const height = axisHeight + pitch * list.length;
  const values = list.map(({ points }) => points[0].value);
  const most = Math.max(...values, 0) || 1;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", tabindex: 0, role: "group",
    "aria-label": `${title}: ${MEASURES[measure].name}. Arrow keys go from bar to bar.` });
  picture.append(svg("text", { x: 0, y: 12 }, MEASURES[measure].axis.replace(" (%)", "")));
  const targets = list.map(({ name, points: [{ place, row, value }] }, index) => {
    const y = axisHeight + pitch * index;
    const long = (width - 80) * Math.max(value, 0) / most;
    const text = severalPlaces ? `${name}, ${place}` : name;
    const fits = Math.floor(width / 6.6);
    picture.append(svg("text", { x: 0, y: y + 11, class: "soft" }, text.length > fits ? `${text.slice(0, fits - 1)}…` : text),
      svg("rect", { x: left, y: y + 15, width: Math.max(long, 1), height: 11, fill: barColour(row) }),
      svg("text", { x: left + long + 6, y: y + 25 }, MEASURES[measure].write(value)));
    return { x: left + long, y: y + 20, row, name };
  });
  makeExplorable(picture, targets, width, true);
  return picture;
}

/** The nearest point tells its row, to the pointer and to arrow keys. */
function makeExplorable(picture, targets, width, rowsOnly = false) {
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
    const distance = ({ x: tx, y: ty }) => (rowsOnly ? Math.abs(ty - y) : Math.hypot(tx - x, ty - y));
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
    const same = (target) => (along && !rowsOnly ? target.name === from.name : rowsOnly || target.x === from.x);
    const line = targets.map((target, i) => ({ target, i })).filter(({ target }) => same(target))
      .sort((a, b) => (along && !rowsOnly ? a.target.x - b.target.x : a.target.y - b.target.y));
    const next = line[line.findIndex(({ i }) => i === current) + (along ?? aside)];
    return choose(next ? next.i : current);
  });
}

function drawLegend() {
  const shown = seriesNames.filter((name) => [...chart.panels.values()].some((series) => [...(series.get(name)?.values() ?? [])].some(isShown)));
  const lines = [...chart.panels.values()].some((series) => [...series.values()].some((points) => points.size > 1));
  byId("legend").hidden = !lines || shown.length > 40;
  if (byId("legend").hidden) return;
  const entries = shown.map((name) => html("span", {}, svg("svg", { width: 36, height: 12, viewBox: "-18 -6 36 12", "aria-hidden": "true" },
    svg("line", { x1: -18, x2: 18, y1: 0, y2: 0, stroke: colour(name), "stroke-width": 1.8, "stroke-dasharray": dash(name) }), marker(name, 0, 0)), name));
  if (plot.ideal !== false && (measure === "efficiency" || (measure === "speedup" && chart.x === "workers")))
    entries.push(html("span", {}, svg("svg", { width: 36, height: 12, viewBox: "-18 -6 36 12", "aria-hidden": "true" },
      svg("line", { class: "ideal", x1: -18, x2: 18, y1: 0, y2: 0 })), "ideal"));
  byId("legend").replaceChildren(...entries);
}

function drawCharts() {
  byId("charts-heading").textContent = `${MEASURES[measure].name} by ${axisName(chart.x)}`;
  drawLegend();
  const panels = byId("panels");
  const wanted = [...chart.panels].filter(([, series]) => [...series.values()].some((points) => [...points.values()].some(isShown)));
  const columns = Math.max(1, getComputedStyle(panels).gridTemplateColumns.split(" ").length);
  const only = wanted.length === 1;
  const width = Math.max(260, Math.floor((Math.min(panels.clientWidth, only ? 800 : Infinity) - 24 * (columns - 1)) / (only ? 1 : columns)));
  const figures = wanted.map(([title, series]) => drawPanel(title, series, width)).filter(Boolean);
  panels.replaceChildren(...(figures.length ? figures : [html("p", { class: "note" }, "No row is left; show more of them.")]));
}

function makeCharts() {
  byId("charts").hidden = false;
  for (const [key, { name }] of Object.entries(MEASURES)) {
    if (rows.every((row) => MEASURES[key].of(row) === null)) continue;
    const radio = html("input", { type: "radio", name: "measure", value: key });
    radio.checked = key === measure;
    radio.addEventListener("change", () => { measure = key; drawCharts(); });
    byId("measures").append(html("label", {}, radio, name));
  }
  let known = 0;
  new ResizeObserver(() => {
    const width = byId("panels").clientWidth;
    if (width !== known && !matchMedia("print").matches) drawCharts();
    known = width;
  }).observe(byId("panels"));
  drawCharts();
}

// --- table -----------------------------------------------------------------------------------------------------------

const MOST_ROWS = 500;
const TABLE = [
  ["profile", "profile"], ["cluster", "cluster"], ["collective", "collective"], ["fidelity", "fidelity"], ["workers", "workers", "count"],
  ["strategy", "strategy"], ["codec", "codec"], ["iteration_s", "iteration", "time"], ["exposed_comm_s", "exposed comm.", "time"], ["codec_s", "compression", "time"],
  ["update_s", "update", "time"], ["copy_s", "copies", "time"], ["memory_bytes", "memory", "size"],
  ["collectives", "collectives", "count"], ["speedup", "speed-up", "ratio"], ["efficiency", "efficiency", "percent"],
  ["above", "above bound", "percent"], ["samples_per_s", "throughput", "samples"], ["origin", "layer times"], ["options", "options", "options"]];
const UNUSED = ["forward_s", "backward_s", "comm_busy_s", "lower_bound_s", "events", "wall_s"];

/** What one column shows: heading, unit, and a cell's text, all cells with as many decimals. */
function makeColumn([key, title, kind]) {
  const values = rows.map((row) => row[key]);
  if (!kind) return { key, title, unit: "", number: false, write: (v) => String(v ?? "") };
  if (kind === "options") return { key, title, unit: "", number: false, write: (v) => v.replaceAll(";", "; "), options: true };
  if (kind === "count") return { key, title, unit: "", number: true, write: String };
  if (kind === "percent") return { key, title, unit: "%", number: true, write: (v) => (v === null ? "–" : tenths(v)) };
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  const small = sorted[Math.floor(sorted.length / 10)] ?? 1; // few are smaller
  const [unit, size] = kind === "time" ? timeUnit(small) : kind === "size" ? sizeUnit(small) : [kind === "samples" ? "samples/s" : "×", 1];
  const decimals = Math.min(3, Math.max(0, 3 - Math.floor(Math.log10(small / size))));
  return { key, title, unit, number: true, write: (v) => (v === null ? "–" : (v / size).toFixed(decimals)) };
}

function makeTable() {
  const known = new Set([...TABLE.map(([key]) => key), ...UNUSED]);
  const extra = data.columns.filter((column) => !known.has(column)).map((column) => [column, column.replaceAll("_", " ")]);
  const says = ([key]) => !["codec_s", "codec", "update_s", "copy_s"].includes(key) || rows.some((row) => row[key]);
  const constant = ([key, , kind]) => rows.length > 1 && (!kind || kind === "options") && distinct(rows.map((row) => row[key])).length === 1;
  const wanted = [...TABLE, ...extra].filter(says);
  const common = wanted.filter((one) => constant(one) && rows[0][one[0]] !== "");
  const columns = wanted.filter((one) => !constant(one)).map(makeColumn);
  byId("rows").hidden = false;
  byId("common").textContent = common.length ? `All rows: ${common.map(([key, title]) => `${title} ${rows[0][key]}`).join(", ")}.` : "";
  const words = new Map(rows.map((row) => [row, columns.map(({ key, write }) => write(row[key])).join(" ").toLowerCase()]));
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  let by = null, direction = 1, all = false;

  const chosen = () => {
    const asked = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const list = rows.filter((row) => isShown(row) && asked.every((word) => words.get(row).includes(word)));
    if (by) list.sort((a, b) => {
      const one = a[by.key], other = b[by.key];
      if (one === null || other === null) return (one === null) - (other === null);
      return direction * (by.number ? one - other : compare(one, other)) || a.index - b.index;
    });
    return list;
  };
  const heads = columns.map((column) => {
    // no <button>: browsers leave those out of a table's head where it is repeated on paper
    const button = html("span", { role: "button", tabindex: 0 }, column.title, html("small", {}, column.unit));
    const sort = () => {
      direction = by === column ? -direction : 1;
      by = column;
      draw();
    };
    button.addEventListener("click", sort);
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort();
    });
    return html("th", { scope: "col", class: column.number ? "number" : null, "data-column": column.key }, button);
  });
  const body = html("tbody");
  const more = html("button", { type: "button", class: "more" });
  more.addEventListener("click", () => { all = true; draw(); });
  const draw = () => {
    const list = chosen();
    const shown = all ? list : list.slice(0, MOST_ROWS);
    heads.forEach((head, i) => {
      if (columns[i] === by) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...shown.map((row) => html("tr", {}, ...columns.map((column) => html("td",
      { class: column.number ? "number" : column.options ? "options" : null }, column.write(row[column.key]))))));
    more.hidden = shown.length === list.length;
    more.textContent = `Show all ${list.length} rows`;
    byId("count").textContent = `${list.length} of ${rows.length} rows${more.hidden ? "" : `, the first ${shown.length} shown`}`;
  };
  byId("table").append(html("table", {}, html("thead", {}, html("tr", {}, ...heads)), body));
  byId("table").after(more);
  byId("search").addEventListener("input", draw);
  draw();
  return draw;
}

// --- timelines -------------------------------------------------------------------------------------------------------

const PS = 1e-12;
const LANE = 22, NAME = 17, TITLE = 24, GAP = 8, AXIS = 26, MEMORY = 58;
const MOST_LANES = 8; // of one kind

const KINDS = { backward: "backward pass", forward: "forward pass", update: "optimizer's update", copy: "copy", collective: "collective", other: "compression" };
const kindOf = (category) => (category in KINDS ? category : "other");

/** A lane as it is drawn: its name and boxes {kind, start, end, name, bytes, waited, batch}; a gap in computing is a box, too. */
function readLane({ process, thread, spans }, processes) {
  const boxes = [];
  let until = spans[0][1];
  const computes = spans.some(([category]) => category === "backward" || category === "forward");
  for (const [category, start, length, name, size, waited, batch] of spans) {
    if (computes && start > until) boxes.push({ kind: "wait", start: until, end: start, name: "waits for communication" });
    boxes.push({ kind: kindOf(category), start, end: start + length, name, size, waited, batch });
    until = Math.max(until, start + length);
  }
  return { name: computes && processes > 1 ? process : computes ? `${thread}: ${process}` : thread, boxes, computes };
}

function makeHatch() {
  return svg("svg", { width: 0, height: 0, style: "position:absolute", "aria-hidden": "true" }, svg("defs", {},
    svg("pattern", { id: "wait-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("line", { x1: 0, x2: 0, y1: 0, y2: 6, stroke: "var(--waits)", "stroke-width": 2.4 }))));
}

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
    if (drawn.length) drawTimeline(figure, drawn, title, kinds);
  }
  const swatch = (kind) => svg("svg", { width: 18, height: 12, class: "timeline", "aria-hidden": "true" },
    kind === "wait" ? svg("rect", { class: "wait", width: 18, height: 12 }) : svg("rect", { width: 18, height: 12, fill: `var(--${kind})` }));
  const named = { ...KINDS, wait: "exposed: computing waits for communication" };
  byId("kinds").replaceChildren(...Object.keys(named).filter((kind) => kinds.has(kind)).map((kind) => html("span", {}, swatch(kind), named[kind])));
  byId("kinds").append(makeHatch());
  if (data.leftOut) byId("figures").append(html("p", { class: "note" },
    `${data.leftOut} more rows, the fastest and slowest elsewhere, are not drawn; --timelines ${data.timelines.length + data.leftOut} draws all.`));
}

function drawTimeline(figure, timelines, title, kinds) {
  // What stands where, from top to bottom.
  const lanes = [];
  const memories = []; // {y, course, most} of a worker's memory
  const texts = [];
  let height = 0;
  for (const { lanes: read, memory, row, fastest: first } of timelines) {
    height += TITLE;
    const short = `${row.series}: ${duration(row.iteration_s)}, ${duration(row.exposed_comm_s)} exposed`;
    const text = `${row.series}, the ${first ? "fastest" : "slowest"}: ${duration(row.iteration_s)} an iteration, ${duration(row.exposed_comm_s)} exposed`;
    texts.push({ y: height - 8, text, short, bold: true });
    const processes = read.filter(({ spans }) => spans.some(([category]) => category === "backward")).length;
    const list = read.map((lane) => readLane(lane, processes));
    for (const computes of [true, false]) {
      const some = list.filter((lane) => lane.computes === computes);
      for (const lane of some.slice(0, MOST_LANES)) {
        height += NAME;
        texts.push({ y: height - 5, text: lane.name });
        lanes.push({ ...lane, y: height });
        height += LANE;
        lane.boxes.forEach(({ kind }) => kinds.add(kind));
      }
      if (some.length > MOST_LANES) {
        height += NAME;
        texts.push({ y: height - 5, text: `and ${some.length - MOST_LANES} more` });
      }
    }
    if (memory) {
      const most = Math.max(...memory.map(([, size]) => size));
      height += NAME;
      texts.push({ y: height - 5, text: `a worker's memory: at most ${bytes(most)}` });
      memories.push({ y: height, course: memory, most });
      height += MEMORY;
    }
    height += GAP;
  }
  const whole = Math.max(...lanes.flatMap(({ boxes }) => boxes.map(({ end }) => end)));
  const least = Math.min(whole, 1e4); // 10 ns across
  let from = 0, to = whole, width = 600, chosen = null;

  const picture = svg("svg", { class: "timeline", tabindex: 0, role: "application",
    "aria-label": `Timeline of ${title}. Plus and minus zoom, arrows move, 0 shows all, shift and arrows go from box to box.` });
  const range = html("output", { role: "status" });
  const button = (text, name, act) => {
    const one = html("button", { type: "button", title: name, "aria-label": name }, text);
    one.addEventListener("click", act);
    return one;
  };
  figure.append(html("div", { class: "controls zoom" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    button("Show all", "Show the whole iteration", () => view(0, whole)), range), picture);

  const x = (time) => (time - from) / (to - from) * width;

  function view(start, end) {
    const long = Math.min(whole, Math.max(least, end - start));
    from = Math.max(0, Math.min(start, whole - long));
    to = from + long;
    draw();
  }
  function zoom(factor, at = 0.5) {
    const middle = from + at * (to - from);
    view(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  function drawLane({ boxes, y }, into) {
    let painted = -1, kind = "";
    for (const box of boxes) {
      if (box.end < from || box.start > to) continue;
      const left = Math.max(x(box.start), -2), right = Math.min(x(box.end), width + 2);
      if (right < painted + 0.3 && kind === box.kind) continue; // too narrow to be seen beside the last
      painted = right;
      kind = box.kind;
      into.push(svg("rect", { class: box.kind === "wait" ? "wait" : right - left > 3 ? "edged" : null, x: left.toFixed(2), y, width: Math.max(right - left, 0.4).toFixed(2), height: LANE,
        fill: box.kind === "wait" ? null : `var(--${box.kind})` }));
      const seen = Math.min(right, width) - Math.max(left, 0), fits = Math.floor((seen - 8) / 6.3);
      if (fits >= 4 && box.kind !== "wait")
        into.push(svg("text", { class: "name", x: (Math.max(left, 0) + 4).toFixed(2), y: y + 15, style: `fill:var(--on-${box.kind})` },
          box.name.length > fits ? `${box.name.slice(0, fits - 1)}…` : box.name));
    }
  }

  /** Steps from nothing up: the most of each pixel, so that no peak is lost. */
  function drawMemory({ y, course, most }, into) {
    const level = (size) => (y + MEMORY * (1 - size / most)).toFixed(2);
    const highest = new Map(); // by pixel
    let last = course[0][1];
    for (const [time, size] of course) {
      if (time < from) last = size;
      const pixel = Math.round(x(time));
      if (time >= from && time <= to) highest.set(pixel, { most: Math.max(size, highest.get(pixel)?.most ?? 0), last: size });
    }
    let path = `M0 ${y + MEMORY}V${level(last)}`;
    for (const [pixel, { most: top, last: left }] of highest) path += `H${pixel}V${level(top)}V${level(left)}`;
    into.push(svg("rect", { class: "band", x: 0, y, width, height: MEMORY }),
      svg("path", { class: "memory", d: `${path}H${width}V${y + MEMORY}Z` }));
  }

  function draw() {
    const into = [];
    for (const memory of memories) drawMemory(memory, into);
    for (const lane of lanes) {
      into.push(svg("rect", { class: "band", x: 0, y: lane.y, width, height: LANE }));
      drawLane(lane, into);
    }
    for (const { y, text: long, short, bold } of texts) {
      const fits = Math.floor(width / (bold ? 7.3 : 6.2));
      const text = long.length > fits && short ? short : long;
      into.push(svg("text", { x: 0, y, class: bold ? null : "soft", "font-weight": bold ? 600 : null, style: bold ? null : "font-size:11px" },
        text.length > fits ? `${text.slice(0, fits - 1)}…` : text));
    }
    const [unit, size] = timeUnit((to - from) * PS);
    const count = Math.max(2, Math.floor(width / 110));
    const step = linearTicks((to - from) * PS / size, count)[1];
    into.push(svg("line", { class: "axis", x1: 0, x2: width, y1: height, y2: height }));
    for (let i = Math.ceil(from * PS / size / step - 1e-9); i * step * size <= to * PS * (1 + 1e-12); ++i) {
      const at = x(i * step * size / PS), text = `${digits(i * step, 8)} ${unit}`;
      into.push(svg("line", { class: "axis", x1: at, x2: at, y1: height, y2: height + 5 }),
        svg("text", { class: "soft", x: at, y: height + 18, "text-anchor": at < 24 ? "start" : at > width - 30 ? "end" : "middle" }, text));
    }
    if (chosen) into.push(svg("rect", { class: "chosen", x: x(chosen.box.start), y: chosen.lane.y, width: Math.max(x(chosen.box.end) - x(chosen.box.start), 2), height: LANE }));
    fill(picture, { viewBox: `0 0 ${width} ${height + AXIS}` }, []);
    picture.replaceChildren(svg("svg", { x: 0, y: 0, width, height: height + AXIS, style: "overflow:hidden" }, ...into));
    range.textContent = `${duration(from * PS)} to ${duration(to * PS)} of ${duration(whole * PS)}`;
  }

  // One box and its tip.
  const tellBox = (lane, box, clientX, clientY) => {
    chosen = { lane, box };
    const pairs = [["starts at", duration(box.start * PS)], ["takes", duration((box.end - box.start) * PS)]];
    if (box.batch) pairs.push(["micro-batch", box.batch]);
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
      const time = from + at * (to - from);
      const lane = lanes.find((one) => y >= one.y && y < one.y + LANE);
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
    if (event.deltaY > 0 && to - from >= whole) return undefined; // the page scrolls on
    event.preventDefault();
    return zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 300))), placeIn(event).at);
  }, { passive: false });
  picture.addEventListener("keydown", (event) => {
    const long = to - from;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.shiftKey && arrow) step(...arrow);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-" || event.key === "_") zoom(2);
    else if (event.key === "0" || event.key === "Home") view(0, whole);
    else if (event.key === "Escape") forget();
    else if (arrow && arrow[0]) view(from + arrow[0] * long / 5, to + arrow[0] * long / 5);
    else return;
    event.preventDefault();
  });

  /** To the next box of the lane, or to the box of the next lane that is there at the same time. */
  function step(along, down) {
    const lane = chosen ? lanes[Math.max(0, Math.min(lanes.length - 1, lanes.indexOf(chosen.lane) + down))] : lanes[0];
    const { boxes } = lane;
    let index = chosen && !down ? boxes.indexOf(chosen.box) + along : boxes.findIndex(({ end }) => end > (chosen ? chosen.box.start : from));
    index = Math.max(0, Math.min(boxes.length - 1, index));
    const box = boxes[index];
    const middle = (box.start + box.end) / 2;
    chosen = { lane, box };
    if (middle < from || middle > to) view(middle - (to - from) / 2, middle + (to - from) / 2);
    else draw();
    const place = picture.getBoundingClientRect(), scale = place.width / width;
    tellBox(lane, box, place.left + Math.max(0, Math.min(width, x(middle))) * scale, place.top + (lane.y + LANE) * scale);
  }

  new ResizeObserver(() => {
    if (matchMedia("print").matches || !figure.clientWidth || figure.clientWidth === width) return;
    width = figure.clientWidth;
    draw();
  }).observe(figure);
  width = figure.clientWidth || width;
  draw();
}

// --- together --------------------------------------------------------------------------------------------------------

const drawTable = makeTable();
makeFilters(() => { drawCharts(); drawTable(); });
makeCharts();
makeTimelines();

// On paper everything is unfolded.
const folded = [];
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    folded.push(details);
  }
  hideTip();
});
window.addEventListener("afterprint", () => { while (folded.length) folded.pop().open = false; });

})();
