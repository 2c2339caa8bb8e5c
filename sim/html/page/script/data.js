// The sweep's rows, and which of them are shown.

const data = JSON.parse(document.getElementById("data").textContent);
const plot = data.plot ?? {};
const byId = (id) => document.getElementById(id);

const rows = data.rows.map((cells, index) => {
  const row = { index };
  data.columns.forEach((column, place) => { row[column] = cells[place]; });
  [row.series, row.fits, row.efficiency] = cells.slice(data.columns.length); // the last over the fewest workers on which the winner fits
  if (row.routing && ![plot.x, plot.series, plot.panels].flat().includes("routing")) row.cluster += ` (routing ${row.routing})`;
  row.above = row.lower_bound_s > 0 ? row.iteration_s / row.lower_bound_s - 1 : null;
  return row;
});

const distinct = (list) => [...new Set(list)];
const differs = (key) => distinct(rows.map((row) => row[key])).length > 1;
const label = (value) => plot.labels?.[value] ?? String(value ?? "");
const asList = (value) => (Array.isArray(value) ? value : [value]);
const isNumeric = (text) => text !== "" && Number.isFinite(Number(text));

const GUESSES = ["reconstructed", "estimated"]; // origins of layer times that nobody measured
const isGuess = (row) => GUESSES.includes(row.origin);
const UNFIT = "does not fit into the memory of a worker";
const coded = rows.some((row) => row.codec); // codecs bring collectives of their own, and are compared in one chart

// --- which rows are shown

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
