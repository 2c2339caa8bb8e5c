// All rows in a table, to sort, to search, and to choose the columns of.

const MOST_ROWS = 500;
// [key, heading, kind]: what says which row it is, the main numbers, and what is shown where there is room or when it is asked for.
const NAMES = [["profile", "profile"], ["cluster", "cluster"], ["collective", "collective"], ["fidelity", "fidelity"], ["origin", "layer times"],
  ["workers", "workers", "count"], ["series", "strategy"]];
const NUMBERS = [["iteration_s", "iteration", "time"], ["exposed_comm_s", "exposed comm.", "time"], ["speedup", "speed-up", "ratio"],
  ["efficiency", "efficiency", "percent"], ["above", "above bound", "percent"]];
const FURTHER = [["memory_bytes", "memory", "size"], ["samples_per_s", "throughput", "samples"], ["collectives", "collectives", "count"],
  ["codec", "codec"], ["codec_s", "compression", "time"], ["update_s", "update", "time"], ["copy_s", "copies", "time"], ["straggler_s", "stragglers", "time"],
  ["tokens_per_s_per_gpu", "tokens/s per GPU", "rate"], ["mfu", "MFU", "percent"]];
const OPTIONS = [["options", "options", "options"]];
const UNUSED = ["strategy", "forward_s", "backward_s", "comm_busy_s", "lower_bound_s", "memory", "events", "network_events", "wall_s",
  "samples_per_s_per_gpu", "fits"];

/** What one column shows: heading, unit, and a cell's text; and exactly, what the CSV says. */
function makeColumn([key, title, kind]) {
  const exact = (row) => (typeof row[key] === "number" && data.columns.includes(key) ? `${row[key]}${{ time: " s", size: " B" }[kind] ?? ""}` : null);
  const text = (write, more) => ({ key, title, unit: "", number: false, exact, write, ...more });
  const number = (unit, write) => ({ key, title, unit, number: true, exact, write });
  if (!kind) return text((v) => String(v ?? ""));
  if (kind === "options") return text((v) => v.replaceAll(";", "; "), { options: true });
  if (kind === "count") return number("", String);
  if (kind === "percent") return number("%", (v) => (v === null ? "–" : tenths(v)));
  const unitOf = { time: timeUnit, size: sizeUnit, samples: () => ["samples/s", 1], rate: () => ["", 1], ratio: () => ["×", 1] }[kind];
  const { unit, write } = columnFormat(rows.map((row) => row[key]), unitOf);
  return number(unit, write);
}

function makeTable() {
  const known = new Set([...NAMES, ...NUMBERS, ...FURTHER, ...OPTIONS].map(([key]) => key).concat(UNUSED));
  const extra = data.columns.filter((column) => !known.has(column)).map((column) => [column, column.replaceAll("_", " ")]);
  const says = ([key]) => rows.some((row) => row[key]) || (key === "exposed_comm_s" && rows.every((row) => row[key] === 0));
  const limited = rows.some((row) => !row.fits);
  const marks = (key) => limited && key === "memory_bytes";
  // Where a worker's iterations are not of as many samples, their times alone do not compare rows.
  const samples = new Set(rows.map((row) => Math.round(1e6 * row.samples_per_s * row.iteration_s / row.workers)));
  const compares = (key) => samples.size > 1 && key === "samples_per_s";
  const constant = (one) => rows.length > 1 && !NUMBERS.includes(one) && !marks(one[0]) && !differs(one[0]);
  const wanted = [...NAMES, ...NUMBERS, ...FURTHER, ...extra, ...OPTIONS].filter(says);
  const common = wanted.filter(constant).map(makeColumn);
  const columns = wanted.filter((one) => !constant(one)).map(makeColumn);
  const main = new Set([...NAMES, ...NUMBERS, ...FURTHER.filter(([key]) => marks(key) || compares(key))].map(([key]) => key));
  byId("rows").hidden = false;
  byId("common").textContent = common.length ? `All rows: ${common.map(({ key, title, write, unit }) => `${title} ${write(rows[0][key])} ${unit}`.trim()).join(", ")}.` : "";
  const words = new Map(rows.map((row) => [row, [...columns.map(({ key, write }) => write(row[key])), row.strategy].join(" ").toLowerCase()]));
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

  // Further columns are shown where all fits beside the main ones, or as the reader chooses.
  const chosenColumns = new Map(); // key: whether the reader wants it
  const table = html("table", {}, html("thead", {}, html("tr", {}, ...heads)), body);
  const boxes = columns.map((column) => {
    const box = html("input", { type: "checkbox", "data-column": column.key });
    box.addEventListener("change", () => { chosenColumns.set(column.key, box.checked); showColumns(); });
    return box;
  });
  const showColumns = () => {
    const room = byId("table").clientWidth;
    table.className = "measured";
    const widths = heads.map((head) => head.getBoundingClientRect().width);
    table.className = "";
    let taken = columns.reduce((sum, { key }, i) => sum + (main.has(key) ? widths[i] : 0), 0);
    columns.forEach(({ key }, i) => {
      const fits = main.has(key) || (!onPaper && taken + widths[i] <= room);
      const shown = chosenColumns.get(key) ?? fits;
      if (shown && !main.has(key)) taken += widths[i];
      boxes[i].checked = shown;
      for (const line of table.rows) line.cells[i].hidden = !shown;
    });
  };
  const draw = () => {
    const list = chosen();
    const shown = all ? list : list.slice(0, MOST_ROWS);
    heads.forEach((head, i) => {
      if (columns[i] === by) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...shown.map((row) => html("tr", {}, ...columns.map((column) => html("td",
      { class: column.number ? "number" : column.options ? "options" : null, title: column.exact(row) },
        column.write(row[column.key]) + (marks(column.key) && !row.fits ? "!" : ""))))));
    showColumns();
    more.hidden = shown.length === list.length;
    more.textContent = `Show all ${list.length} rows`;
    byId("count").textContent = `${list.length} of ${rows.length} rows${more.hidden ? "" : `, the first ${shown.length} shown`}${limited ? `; ! ${UNFIT}` : ""}`;
  };
  byId("table").append(table);
  byId("columns").append(html("fieldset", {}, ...columns.map(({ title }, i) => html("label", {}, boxes[i], " ", title))));
  let room = 0;
  new ResizeObserver(() => {
    if (onPaper || byId("table").clientWidth === room) return;
    room = byId("table").clientWidth;
    showColumns();
  }).observe(byId("table"));
  byId("table").after(more);
  byId("search").addEventListener("input", draw);
  draw();
  return draw;
}
