// How series are told from each other: by colour, dashes and marker, as all pictures have it, so that a grey print does
// not mix two of them up.

/** The place of each of these series among the looks: a strategy's own; the others take what is free, in their order. */
function placesOf(names) {
  const own = new Map(Object.entries(data.strategies).map(([name, place]) => [label(name), place]));
  const taken = new Set(names.filter((name) => own.has(name)).map((name) => own.get(name)));
  let next = 0;
  return new Map(names.map((name) => {
    if (own.has(name)) return [name, own.get(name)];
    while (taken.has(next)) next += 1;
    return [name, next++];
  }));
}

function lookAt(place) {
  const at = place % data.looks.length;
  return { ...data.looks[at], colour: `var(--look-${at})`, place: at };
}

const strategyPlaces = placesOf(distinct(rows.map((row) => label(row.strategy))));
const lookOfStrategy = (strategy) => lookAt(strategyPlaces.get(label(strategy)));

const marker = ({ marker: d, colour, hollow }, x, y) => svg("path", { d, transform: `translate(${x} ${y})`, stroke: colour, "stroke-width": 1.4,
  fill: hollow ? "var(--page)" : colour });

/** A bar, hatched as pictures have it, unless it stands apart and is named. */
function bar({ colour, place, hatch }, x, y, width, height, hatched = true) {
  const box = { x: x.toFixed(2), y: y.toFixed(2), width: width.toFixed(2), height: height.toFixed(2) };
  return svg("g", { class: "bar" }, svg("rect", { ...box, fill: colour }),
    ...(hatched && hatch.length > 0 ? [svg("rect", { ...box, fill: `url(#hatch-${place})` })] : []));
}

const stripes = (id, size, angles, colour, width) => svg("pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse",
  patternTransform: `rotate(${angles[0]})` }, ...angles.map((angle) => svg("line", { ...(angle === angles[0] ? { x1: 0, x2: 0, y1: 0, y2: size } :
  { x1: 0, x2: size, y1: 0, y2: 0 }), stroke: colour, "stroke-width": width })));

/** What fills of bars refer to, once a page. */
function makeHatches() {
  const hatches = data.looks.map(({ hatch }, place) => (hatch.length > 0 ? stripes(`hatch-${place}`, 5, hatch, "var(--page)", 2) : null));
  document.body.append(svg("svg", { width: 0, height: 0, style: "position:absolute", "aria-hidden": "true" },
    svg("defs", {}, ...hatches.filter(Boolean))));
}
