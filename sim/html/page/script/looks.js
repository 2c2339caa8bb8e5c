// How series are told from each other: by colour, dashes and marker, so that a grey print does not mix two of them up.

// A strategy's place fixes its look, the same as in tools/plot.py.
const STRATEGIES = ["wfbp", "sync-easgd", "mg-wfbp", "optimal-merge", "s-sgd", "ddp", "horovod", "bytescheduler", "us-byte", "p3",
  "dear", "mergecomp", "best"];
const COLOURS = 7;
const DASHES = ["", "7 3", "4 2 1.5 2", "1.5 2.5", "9 2 1.5 2 1.5 2"];
const MARKERS = [ // around (0, 0)
  "M4 0A4 4 0 1 1 -4 0A4 4 0 1 1 4 0Z", "M-3.6 -3.6H3.6V3.6H-3.6Z", "M0 -4.6L4.4 3.4H-4.4Z", "M0 -5L5 0L0 5L-5 0Z",
  "M0 4.6L4.4 -3.4H-4.4Z", "M-1.4 -4.5H1.4V-1.4H4.5V1.4H1.4V4.5H-1.4V1.4H-4.5V-1.4H-1.4Z",
  "M-4 -2L-2 -4L0 -2L2 -4L4 -2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0Z", "M-4.6 0L3.4 -4.4V4.4Z", "M4.6 0L-3.4 -4.4V4.4Z"];
const HATCHES = 4; // whole, and three ways to be hatched

/** The place of each of these series: a strategy's own, and behind those what else there is. */
function placesOf(names) {
  const known = STRATEGIES.map(label);
  const others = names.filter((name) => !known.includes(name));
  const shift = others.length < names.length ? STRATEGIES.length : 0;
  return new Map(names.map((name) => [name, known.includes(name) ? known.indexOf(name) : shift + others.indexOf(name)]));
}

const lookAt = (place) => ({ colour: `var(--c${place % COLOURS})`, dash: DASHES[place % DASHES.length], marker: MARKERS[place % MARKERS.length],
  hollow: place % 2 === 1, hatch: Math.floor(place / COLOURS) % HATCHES });

const strategyNames = distinct([...STRATEGIES, ...rows.map((row) => row.strategy)]);
const lookOfStrategy = (strategy) => lookAt(strategyNames.indexOf(strategy));

const marker = ({ marker: d, colour, hollow }, x, y) => svg("path", { d, transform: `translate(${x} ${y})`, stroke: colour, "stroke-width": 1.4,
  fill: hollow ? "var(--page)" : colour });

/** A bar, hatched where its colour is another's, too. */
function bar({ colour, hatch }, x, y, width, height) {
  const box = { x: x.toFixed(2), y: y.toFixed(2), width: width.toFixed(2), height: height.toFixed(2) };
  return svg("g", { class: "bar" }, svg("rect", { ...box, fill: colour }), ...(hatch ? [svg("rect", { ...box, fill: `url(#hatch-${hatch})` })] : []));
}

/** What fills of bars refer to, once a page. */
function makeHatches() {
  const stripes = [, 45, 0, 135].map((angle, i) => svg("pattern", { id: `hatch-${i}`, width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: `rotate(${angle})` }, svg("line", { x1: 0, x2: 0, y1: 0, y2: 5, stroke: "var(--page)", "stroke-width": 2.4 })));
  const waits = svg("pattern", { id: "wait-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("line", { x1: 0, x2: 0, y1: 0, y2: 6, stroke: "var(--waits)", "stroke-width": 2.4 }));
  document.body.append(svg("svg", { width: 0, height: 0, style: "position:absolute", "aria-hidden": "true" }, svg("defs", {}, ...stripes.filter(Boolean), waits)));
}
