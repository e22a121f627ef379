// Tables with search, sorting and pages. Columns are lists; a row is an index into them.

const PAGE = 50;
// The style sheet repeats this number.
const ON_PAPER = 10;

// columns: [{key, name, number, write}]; data: {key: list}; options: id, search, caption, note.
function dataTable(box, columns, data, options) {
  const state = { data, order: [], shown: [], sort: null, down: false, from: 0, find: "" };
  const first = columns[0].key;
  const size = () => state.data[first].length;

  const tools = html("div", { class: "tools" }, box);
  if (options.search) {
    const label = html("label", { class: "search", for: options.search }, tools, `Search ${options.what} `);
    const input = html("input", { type: "search", id: options.search, autocomplete: "off" });
    label.after(input);
    input.addEventListener("input", () => { state.find = input.value; find(); });
  }
  const scroll = html("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": options.caption }, box);
  const table = html("table", { id: options.id }, scroll);
  const head = html("tr", {}, html("thead", {}, table));
  const body = html("tbody", {}, table);
  const headings = columns.map((column) => {
    const cell = html("th", { scope: "col", class: column.number ? "number" : "", "aria-sort": "none" }, head);
    const button = html("button", { type: "button" }, cell, column.name);
    button.addEventListener("click", () => sort(column));
    return cell;
  });
  const pager = html("div", { class: "pager" }, box);
  const back = html("button", { type: "button" }, pager, "Previous");
  const where = html("span", { "aria-live": "polite" }, pager);
  const next = html("button", { type: "button" }, pager, "Next");
  const cut = html("p", { class: "cut" }, box);
  back.addEventListener("click", () => turn(-PAGE));
  next.addEventListener("click", () => turn(PAGE));

  function turn(by) {
    state.from = Math.max(0, state.from + by);
    draw();
    scroll.scrollTop = 0;
  }

  // Compare text without case and accents.
  function plainLetters(text) {
    return String(text ?? "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  }

  function sort(column) {
    state.down = state.sort === column ? !state.down : Boolean(column.number);
    state.sort = column;
    headings.forEach((cell, k) => {
      const mine = columns[k] === column;
      cell.setAttribute("aria-sort", mine ? (state.down ? "descending" : "ascending") : "none");
    });
    arrange();
  }

  // Sort the rows; unknown values come last in both directions, and the sort is stable.
  function arrange() {
    state.order = Array.from({ length: size() }, (_, row) => row);
    if (state.sort) {
      const list = state.data[state.sort.key], way = state.down ? -1 : 1;
      const words = new Intl.Collator("en", { numeric: true });
      const compare = list.every((value) => value === null || typeof value === "number")
        ? (a, b) => a - b
        : (a, b) => words.compare(String(a), String(b));
      state.order.sort((first, second) => {
        const a = list[first], b = list[second];
        if (a === null || b === null) return (a === null) - (b === null) || first - second;
        return way * compare(a, b) || first - second;
      });
    }
    find();
  }

  function find() {
    const wanted = plainLetters(state.find.trim());
    const searched = columns.filter((column) => !column.number).map((column) => state.data[column.key]);
    state.shown = !wanted ? state.order : state.order.filter((row) =>
      searched.some((list) => plainLetters(list[row]).includes(wanted)));
    state.from = 0;
    draw();
    scroll.scrollTop = 0;
  }

  function draw() {
    const to = Math.min(state.from + PAGE, state.shown.length);
    const rows = state.shown.slice(state.from, to).map((row) => {
      const line = html("tr", {});
      columns.forEach((column, k) => {
        const value = state.data[column.key][row];
        const text = column.write ? column.write(value, row) : String(value ?? "");
        const kind = column.number ? { class: "number" } : {};
        nameCell(k ? "td" : "th", k ? kind : { scope: "row", ...kind }, line, text);
      });
      return line;
    });
    body.replaceChildren(...rows);
    const all = state.shown.length;
    const by = state.find.trim() ? `, search: “${state.find.trim()}”` : "";
    where.textContent = (all ? `${count(state.from + 1)}–${count(to)} of ${count(all)}` : "none found") + by;
    back.disabled = state.from === 0;
    next.disabled = to >= all;
    pager.hidden = all <= PAGE && !state.find;
    cut.textContent = all <= ON_PAPER ? "" : `${count(state.from + 1)}–${count(state.from + Math.min(ON_PAPER, rows.length))} of ${count(all)}${by}. The page on a screen lists all.`;
  }

  arrange();
  // New values in the same rows: keep the page, and sort again in case the sorted column changed.
  return { update(changed) {
    const from = state.from, down = scroll.scrollTop;
    state.data = changed;
    arrange();
    state.from = from < state.shown.length ? from : 0;
    draw();
    scroll.scrollTop = down;
  } };
}
