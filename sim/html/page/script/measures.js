// What charts can show, and which rows stand in which panel, series and place.

/** The value that a row has for a column, or for an option where no column is called so. */
function valueOf(row, key) {
  if (data.columns.includes(key)) return row[key];
  const option = String(row.options ?? "").split(";").find((one) => one.startsWith(`${key}=`));
  return option === undefined ? "" : option.slice(key.length + 1);
}
const joined = (keys) => (row) => keys.map((key) => label(valueOf(row, key))).filter((text) => text !== "").join(", ");
const named = (keys) => (row) => joined(keys)(row) || (keys.length > 0 ? `no ${axisName(keys[0])}` : ""); // series
const axisName = (column) => plot.labels?.[column] ?? column.replace(/_s$/, "").replaceAll("_", " ");

const planned = { x: plot.x ?? "workers", series: asList(plot.series ?? "strategy"), panels: asList(plot.panels ?? "profile") };

// --- what is measured

const MEASURES = {
  speedup: { name: "Speed-up", axis: "speed-up over one worker", write: (v) => digits(v), of: (row) => row.speedup },
  efficiency: { name: "Efficiency", axis: "scaling efficiency (%)", ratio: true, write: percent, of: (row) => row.efficiency },
  iteration: { name: "Iteration time", axis: "time per iteration", time: true, write: duration, of: (row) => row.iteration_s },
  exposed: { name: "Exposed communication", axis: "exposed communication per iteration", time: true, write: duration, of: (row) => row.exposed_comm_s },
  above: { name: "Above the lower bound", axis: "above the lower bound (%)", ratio: true, write: percent, of: (row) => row.above },
};
const COLUMNS_OF_MEASURES = { speedup: "speedup", efficiency: "efficiency", iteration_s: "iteration", exposed_comm_s: "exposed" };
const KINDS_OF_PLOT = { speedup: "speedup", efficiency: "efficiency", bars: "iteration", histogram: "iteration" };

/** What divides the row's y: nothing, a column, or the y of its like that "over" selects (NaN unless there is just one). */
function divisors(y) {
  if (plot.over === undefined) return () => 1;
  if (typeof plot.over === "string") return (row) => row[plot.over];
  const selected = (row) => Object.entries(plot.over).every(([key, value]) => asList(value).map(String).includes(String(valueOf(row, key))));
  const like = joined([...planned.panels, ...planned.series, planned.x].filter((key) => !(key in plot.over)));
  const found = new Map();
  for (const row of rows.filter(selected)) found.set(like(row), found.has(like(row)) ? NaN : row[y]);
  return (row) => found.get(like(row)) ?? NaN;
}

/** The measure that "plot" names; one of its own where the others are not it. */
function plannedMeasure() {
  const y = plot.y ?? "iteration_s";
  if (KINDS_OF_PLOT[plot.kind] || !data.columns.includes(y)) return KINDS_OF_PLOT[plot.kind] ?? "speedup";
  if (!["lines", "columns", "dots"].includes(plot.kind)) return "speedup";
  if (!plot.over && COLUMNS_OF_MEASURES[y]) return COLUMNS_OF_MEASURES[y];
  const below = divisors(y), own = (row) => (row[y] === null ? NaN : row[y] / below(row));
  if (!rows.every((row) => Number.isFinite(own(row)))) return COLUMNS_OF_MEASURES[y] ?? "iteration";
  const name = axisName(y), time = !plot.over && y.endsWith("_s");
  MEASURES.own = { name: name[0].toUpperCase() + name.slice(1), axis: name, time, write: time ? duration : (v) => digits(v), of: own };
  return "own";
}
let measure = plannedMeasure();

// --- what stands where

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
    const place = x === "index" ? String(row.index) : label(valueOf(row, x));
    if (series.get(name).has(place)) return null;
    series.get(name).set(place, row);
  }
  return { x, panels };
}

function grouped() {
  const without = (keys, one) => keys.filter((key) => key !== one);
  const differing = (keys) => { const some = keys.filter(differs); return some.length ? some : ["profile"]; };
  const bySeries = (row) => label(row.series);
  const isSized = differs("workers"), areClusters = differs("cluster") && !isSized; // several clusters at one size stand side by side
  const attempts = [];
  if (data.plot && areClusters && planned.x === "workers")
    attempts.push(() => group("cluster", named(without(planned.series, "cluster")), joined(without(planned.panels, "cluster"))));
  if (data.plot) attempts.push(() => group(planned.x, named(planned.series), joined(planned.panels)));
  if (areClusters) attempts.push(() => group("cluster", bySeries, joined(differing(without(GROUPS, "cluster")))));
  attempts.push(() => group("workers", bySeries, joined(differing(GROUPS))));
  attempts.push(() => group("index", bySeries, joined(differing(GROUPS)))); // rows that stand there twice
  for (const attempt of attempts) {
    const found = attempt();
    if (found) return found;
  }
  return null;
}

const chart = grouped();
const seriesNames = distinct([...chart.panels.values()].flatMap((series) => [...series.keys()]));
const places = placesOf(seriesNames);
const look = (name) => lookAt(places.get(name));
