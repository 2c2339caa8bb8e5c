// Sorts the table of all rows by a column, filters it by words, and explains its columns.

function makeTable(table) {
  const [body, rest] = table.tBodies, mostRows = body.rows.length; // shown unless the reader asks for all
  const rows = [...body.rows, ...(rest?.rows ?? [])];
  const heads = [...table.tHead.rows[0].cells];
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  let order = rows, words = null, all = false;

  const draw = () => {
    const asked = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    words ??= asked.length ? new Map(rows.map((row) => [row, [...row.cells].map((cell) => cell.textContent.toLowerCase()).join(" ")])) : null;
    const found = asked.length ? order.filter((row) => asked.every((word) => words.get(row).includes(word))) : order;
    const shown = new DocumentFragment();
    found.slice(0, all ? undefined : mostRows).forEach((row) => shown.append(row));
    const count = shown.childElementCount;
    body.replaceChildren(shown);
    byId("more").hidden = count === found.length;
    byId("more").textContent = `Show all ${found.length} rows`;
    byId("count").textContent = `${found.length} of ${rows.length} rows${count < found.length ? `, the first ${count} shown` : ""}`;
  };
  const sort = (head) => {
    const column = heads.indexOf(head), direction = head.ariaSort === "ascending" ? -1 : 1;
    const isNumber = head.matches(".number");
    const values = new Map(rows.map((row) => {
      const { dataset, textContent } = row.cells[column];
      return [row, isNumber ? parseFloat(dataset.value ?? textContent) : textContent];
    }));
    const missing = (value) => isNumber && Number.isNaN(value); // sorted last in either direction
    order = [...rows].sort((a, b) => {
      const one = values.get(a), other = values.get(b);
      if (missing(one) || missing(other)) return missing(one) - missing(other);
      return direction * (isNumber ? one - other : compare(one, other));
    });
    for (const other of heads) other.ariaSort = null;
    head.ariaSort = direction > 0 ? "ascending" : "descending";
    draw();
  };
  const registry = JSON.parse(byId("registry").textContent);
  for (const head of heads) {
    const name = head.textContent.split("\u00a0")[0];
    head.title = registry.find((column) => column.title === name)?.about ?? "";
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort(head);
    });
  }
  byId("more").addEventListener("click", () => { all = true; draw(); });
  byId("search").addEventListener("input", draw);
  draw();
}
