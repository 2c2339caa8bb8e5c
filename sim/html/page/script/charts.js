// The charts: panels, legend, and what they show.

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
const MOST_BARS_OF_MANY_ON_PAPER = 6;

/** Of many series those fastest in their last point (what fits first), and how many are left out. */
function fastest(list, most) {
  if (list.length <= most) return [list, 0];
  const last = ({ points }) => points.at(-1).row;
  const kept = new Set([...list].sort((a, b) => last(b).fits - last(a).fits || last(a).iteration_s - last(b).iteration_s).slice(0, most));
  return [list.filter((one) => kept.has(one)), list.length - most];
}

/** Lines where places are numbers, groups of columns where they are names, bars where each series has one. */
function drawing(list, axis) {
  if (chart.x === "index" || list.every(({ points }) => points.length < 2)) return drawBars;
  return areColumns(axis) ? drawColumns : drawLines;
}

function drawPanel(title, series, width) {
  const places = distinct([...series.values()].flatMap((points) => [...points].filter(([, row]) => isShown(row)).map(([place]) => place)));
  if (!places.length) return null;
  const axis = horizontalAxis(places);
  const all = visibleSeries(series, axis);
  const [list, leftOut] = fastest(all, places.length > 1 ? MOST_LINES : onPaper && chart.panels.size > 2 ? MOST_BARS_OF_MANY_ON_PAPER : MOST_BARS);
  const members = [...series.values()].flatMap((points) => [...points.values()]);
  const heading = html("h3", {}, title || "All rows");
  for (const origin of GUESSES) {
    const guessed = members.filter((row) => row.origin === origin).length;
    if (guessed) heading.append(html("span", { class: "badge", title: "layer times are inferred, not measured" }, guessed === members.length ? origin : `partly ${origin}`));
  }
  const figure = html("figure", {}, heading);
  if (!list.length) figure.append(html("p", { class: "note" }, "No row has this number."));
  else figure.append(drawing(list, axis)(list, axis, width, title));
  if (list.some(({ points }) => points.some(({ row }) => !row.fits))) figure.append(html("p", { class: "note" }, `×: ${UNFIT}`));
  if (leftOut) figure.append(html("p", { class: "note" }, `The ${list.length} fastest of ${list.length + leftOut}; the table has all.`));
  return figure;
}

function drawLegend() {
  const panels = [...chart.panels.values()];
  const shown = seriesNames.filter((name) => panels.some((series) => [...(series.get(name)?.values() ?? [])].some(isShown)));
  const places = distinct(panels.flatMap((series) => [...series.values()].flatMap((points) => [...points.keys()])));
  const areBars = chart.x === "index" || panels.every((series) => [...series.values()].every((points) => points.size < 2));
  byId("legend").hidden = areBars || shown.length > 40;
  if (byId("legend").hidden) return;
  const axis = horizontalAxis(places), columns = areColumns(axis);
  const entry = (name, ...shapes) => html("span", {}, svg("svg", { width: 36, height: 12, viewBox: "-18 -6 36 12", "aria-hidden": "true" }, ...shapes), name);
  const entries = shown.map((name) => (columns ? entry(name, bar(look(name), -9, -6, 18, 12)) : entry(name, svg("line", { x1: -18, x2: 18, y1: 0, y2: 0,
    stroke: look(name).colour, "stroke-width": 1.8, "stroke-dasharray": look(name).dash }), marker(look(name), 0, 0))));
  if (!columns && idealOf(axis)) entries.push(entry(label("ideal"), svg("line", { class: "ideal", x1: -18, x2: 18, y1: 0, y2: 0 })));
  byId("legend").replaceChildren(...entries);
}

function drawCharts() {
  byId("charts-heading").textContent = MEASURES[measure].name + (chart.x === "index" ? "" : ` by ${axisName(chart.x)}`);
  drawLegend();
  const panels = byId("panels");
  const wanted = [...chart.panels].filter(([, series]) => [...series.values()].some((points) => [...points.values()].some(isShown)));
  const space = onPaper || panels.clientWidth, most = onPaper ? (wanted.length > 4 ? 3 : 2) : Math.max(1, Math.floor((space + 24) / 424));
  const columns = Math.ceil(wanted.length / Math.ceil(wanted.length / most)) || 1; // as many in each line, but for the last
  panels.style.setProperty("--columns", columns);
  const width = Math.floor((Math.min(space, columns === 1 ? 900 : Infinity) - 24 * (columns - 1)) / columns);
  const figures = wanted.map(([title, series]) => drawPanel(title, series, width)).filter(Boolean);
  panels.replaceChildren(...(figures.length ? figures : [html("p", { class: "note" }, "No row is left; show more of them.")]));
}

function makeCharts() {
  byId("charts").hidden = false;
  const keys = Object.keys(MEASURES);
  for (const key of MEASURES.own ? ["own", ...keys.slice(0, -1)] : keys) {
    if (rows.every((row) => MEASURES[key].of(row) === null)) continue;
    const radio = html("input", { type: "radio", name: "measure", value: key });
    radio.checked = key === measure;
    radio.addEventListener("change", () => { measure = key; drawCharts(); });
    byId("measures").append(html("label", {}, radio, MEASURES[key].name));
  }
  let known = 0;
  new ResizeObserver(() => {
    const width = byId("panels").clientWidth;
    if (width !== known && !onPaper) drawCharts();
    known = width;
  }).observe(byId("panels"));
  drawCharts();
}
