// The explorer: pick a released table, see its numbers with their errors, take them along.
// hushtable.explore(element, packed) fills an element; packed is what explorer.py gives.
hushtable.explore = (() => {
  "use strict";
  const { axis, bar, countText, h, number, scaleOf, visible } = hushtable.draw;
  const { csv, save, xlsx } = hushtable.files;
  const FIRST_ROWS = 60;
  const VIEWS = { bars: "Bars", grid: "Grid" };
  const AXES = { zero: "From zero", zoom: "Zoomed", log: "Logarithmic" };
  const ORDERS = { own: "As declared", down: "Largest first", up: "Smallest first", label: "By name" };
  let made = 0;

  class Explorer {
    constructor(place, packed, store) {
      this.place = place;
      this.store = store;
      this.model = new hushtable.Model(store);
      this.about = packed;
      this.id = `explorer-${++made}`;
      this.state = { axes: [], view: "bars", show: "count", axis: "zero", order: "own", column: null, search: "", all: false, fixed: {} };
      this.turn = 0;
      this.#build();
    }

    label(axis) { return visible(this.store.attributes[axis].label); }

    names(axes) { return axes.map((axis) => this.label(axis)); }

    #build() {
      this.pickers = h("div", { class: "pickers" });
      this.tools = h("div", { class: "controls" });
      this.fixed = h("div", { class: "controls" });
      this.status = h("p", { class: "status", role: "status" });
      this.content = h("div", { class: "content" });
      this.notes = h("ul", { class: "notes" });
      this.place.replaceChildren(h("div", { class: "panel" }, this.pickers, this.tools, this.fixed), this.status, this.content, this.notes);
      this.#buildTools();
    }

    #choice(name, label, options) {
      const id = `${this.id}-${name}`;
      const select = h("select", { id, onchange: () => this.set({ [name]: select.value, all: false }) });
      this[`${name}Select`] = select;
      this.#options(select, options);
      return h("div", { class: "control" }, h("label", { for: id }, label), select);
    }

    #options(select, options) {
      select.replaceChildren(...Object.entries(options).map(([value, text]) => h("option", { value }, text)));
    }

    #buildTools() {
      const search = h("input", { type: "search", id: `${this.id}-search`, autocomplete: "off", placeholder: "category", oninput: () => this.set({ search: search.value, all: false }) });
      this.searchBox = search;
      this.link = h("a", { class: "permalink", href: "#table=" }, "Link to this view");
      const button = (name, label, act) => h("button", { type: "button", "data-save": name, onclick: act }, label);
      this.tools.replaceChildren(
        this.#choice("view", "View", VIEWS),
        this.#choice("show", "Show", { count: "Counts" }),
        this.#choice("axis", "Axis", AXES),
        this.#choice("order", "Order", ORDERS),
        h("div", { class: "control" }, h("label", { for: search.id }, "Find"), search),
        h("div", { class: "control save" }, button("csv", "CSV", () => this.saveCsv()), button("xlsx", "XLSX", () => this.saveXlsx()), this.link),
      );
    }

    // Attributes to count by, one menu after the other; each offers what was released together with those before it.
    #buildPickers() {
      const { axes } = this.state;
      const menus = [];
      for (let k = 0; k <= axes.length; k++) {
        const before = axes.slice(0, k);
        const options = this.store.next(before);
        if (!options.length) break;
        const id = `${this.id}-pick-${k}`;
        const select = h("select", { id, onchange: () => this.#picked(k, select.value) });
        select.append(h("option", { value: "" }, k ? "–" : "nothing: all together"));
        for (const option of options) select.append(h("option", { value: option, selected: option === axes[k] }, this.label(option)));
        select.value = axes[k] === undefined ? "" : String(axes[k]);
        const word = k === 0 ? "Count by" : k === 1 ? "and" : "and";
        menus.push(h("div", { class: "control" }, h("label", { for: id }, word), select));
      }
      const swap = h("button", { type: "button", class: "swap", onclick: () => this.show([axes[1], axes[0], ...axes.slice(2)]) }, "Swap rows and columns");
      this.pickers.replaceChildren(...menus, ...(axes.length > 1 ? [swap] : []));
    }

    #picked(k, value) {
      const before = this.state.axes.slice(0, k);
      if (value === "") return this.show(before);
      const axes = [...before, Number(value)];
      for (const later of this.state.axes.slice(k + 1)) if (this.store.next(axes).includes(later)) axes.push(later);
      return this.show(axes);
    }

    // Show the table of these axes, in the way that `more` says.
    show(axes, more = {}) {
      const before = this.state.axes.length;
      const view = axes.length < 2 ? "bars" : before < 2 ? "grid" : this.state.view;
      const show = axes.length < 2 && ["row", "column"].includes(this.state.show) ? "total" : this.state.show;
      const fixed = Object.fromEntries(axes.slice(2).map((axis) => [axis, this.state.fixed[axis] || 0]));
      this.searchBox.value = more.search ?? "";
      return this.set({ axes, view, show: axes.length ? show : "count", fixed, order: "own", column: null, search: "", all: false, ...more });
    }

    async set(change) {
      Object.assign(this.state, change);
      const turn = ++this.turn;
      const { axes, show } = this.state;
      this.#buildPickers();
      this.#updateTools();
      if (!this.store.has(axes)) return this.#elsewhere();
      const content = await this.model.content(axes, show);
      if (turn !== this.turn) return undefined; // a later choice has overtaken this one
      this.shown = content;
      this.place.dataset.table = this.tableName();
      if (this.state.view === "grid" && axes.length > 1) this.#drawGrid(content);
      else this.#drawBars(content);
      this.#drawNotes(content);
      this.#shown();
      return content;
    }

    tableName() { return this.state.axes.map((axis) => this.store.attributes[axis].name).join(","); }

    #elsewhere() {
      const file = this.store.elsewhere(this.state.axes);
      const names = this.state.axes.map((axis) => encodeURIComponent(this.store.attributes[axis].name)).join(",");
      this.shown = null;
      this.status.textContent = "";
      this.notes.replaceChildren();
      this.content.replaceChildren(h("p", {}, "This table is on another page: ", h("a", { href: `${file}#table=${names}` }, file), "."));
      this.#shown();
    }

    #shown() {
      this.link.setAttribute("href", hushtable.address.written(this));
      this.onshow?.();
    }

    #updateTools() {
      const { axes, view } = this.state;
      const shows = { count: "Counts" };
      if (axes.length) shows.total = "Percent of the total";
      if (axes.length > 1) {
        shows.row = `Percent of the row (${this.label(axes[0])})`;
        shows.column = `Percent of the column (${this.label(axes[1])})`;
      }
      this.#options(this.showSelect, shows);
      for (const name of ["view", "show", "axis", "order"]) this[`${name}Select`].value = this.state[name];
      const grid = view === "grid" && axes.length > 1;
      this.viewSelect.parentElement.hidden = axes.length < 2;
      this.showSelect.parentElement.hidden = !axes.length;
      this.axisSelect.parentElement.hidden = grid;
      this.orderSelect.parentElement.hidden = !axes.length || grid;
      this.searchBox.parentElement.hidden = !axes.length;
      this.fixed.replaceChildren(...(grid ? axes.slice(2).map((axis) => this.#fixedMenu(axis)) : []));
    }

    #fixedMenu(axis) {
      const id = `${this.id}-fixed-${axis}`;
      const select = h("select", { id, onchange: () => this.set({ fixed: { ...this.state.fixed, [axis]: Number(select.value) } }) });
      this.store.attributes[axis].labels.forEach((label, code) => select.append(h("option", { value: code }, visible(label))));
      select.value = String(this.state.fixed[axis]);
      return h("div", { class: "control" }, h("label", { for: id }, `only ${this.label(axis)}`), select);
    }

    caption(shares) {
      const { axes, show } = this.state;
      const what = visible(this.about.unit);
      const held = this.state.view === "grid" ? axes.slice(2) : [];
      const free = axes.slice(0, axes.length - held.length);
      const only = held.map((axis) => `, ${this.label(axis)}: ${visible(this.store.attributes[axis].labels[this.state.fixed[axis]])}`).join("");
      const by = (axes.length ? ` by ${this.names(free).join(" and ")}` : ", all together") + only;
      const of = { count: "", total: ", percent of the total", row: `, percent of each ${this.label(axes[0] ?? 0)}`, column: `, percent of each ${this.label(axes[1] ?? 0)}` }[show];
      return `${what[0].toUpperCase()}${what.slice(1)}${by}${shares ? of : ""}`;
    }

    #words() { return this.state.search.toLowerCase().split(/[\s,]+/).filter(Boolean); }

    #matches(labels) {
      const text = labels.join(" ").toLowerCase();
      return this.#words().every((word) => text.includes(word));
    }

    #ordered(rows) {
      const { order } = this.state;
      const value = (row) => (Number.isNaN(row.estimate) ? -Infinity : row.estimate);
      if (order === "down") return [...rows].sort((a, b) => value(b) - value(a));
      if (order === "up") return [...rows].sort((a, b) => value(a) - value(b));
      if (order === "label") return [...rows].sort((a, b) => a.labels.join(" ").localeCompare(b.labels.join(" "), "en", { numeric: true }));
      return rows;
    }

    #flagMark(row) { return `flag-${row.flag.name}`; }

    #drawBars({ cells, rowTotals, grand }) {
      const { axes } = this.state;
      const { shares, step } = cells;
      const found = this.#ordered(this.model.rows(cells).filter((row) => this.#matches(row.labels)));
      const rows = this.state.all ? found : found.slice(0, FIRST_ROWS);
      const ticks = this.place.clientWidth < 600 ? 3 : 5;
      const scale = scaleOf(this.state.axis, found.length ? found : this.model.rows(cells), shares, ticks);
      const grouped = axes.length > 1 && this.state.order === "own";
      const lines = [];
      let last = null;
      for (const row of rows) {
        if (grouped && row.codes[0] !== last) {
          last = row.codes[0];
          lines.push(this.#groupLine(row, axes.length === 2 ? rowTotals : null, step));
        }
        const labels = grouped ? row.labels.slice(1) : row.labels;
        lines.push(h("tr", { class: grouped ? "inner" : null },
          h("th", { scope: "row" }, labels.length ? visible(labels.join(" · ")) : "All"),
          h("td", { class: "drawn" }, bar(row, scale, this.#flagMark(row))),
          number(row, shares, step, row.flag)));
      }
      if (axes.length && !this.#words().length && rows.length === found.length) lines.push(this.#totalLine(grand, axes.slice(2), step));
      const head = h("tr", {}, h("th", { scope: "col" }, axes.length ? this.names(axes).join(" · ") : "Records"),
        h("th", { scope: "col", class: "drawn" }, h("span", { class: "hidden" }, "Bar with its interval"), axis(scale, shares)),
        h("th", { scope: "col", class: "number" }, shares ? "Percent" : "Count", h("span", { class: "ends" }, `interval at ${this.#level(cells)}`)));
      this.#place("bars", head, lines, shares);
      this.#tell(rows.length, found.length, cells.cells);
    }

    #groupLine(row, totals, step) {
      const whole = totals && this.model.row(totals, [row.codes[0]]);
      const shown = h("th", { scope: "colgroup", colspan: totals ? 2 : 3, class: "group" }, visible(row.labels[0]));
      return h("tr", { class: "grouped" }, shown, ...(totals ? [number(whole, totals.shares, totals.step ?? step, whole.flag)] : []));
    }

    #totalLine(grand, rest, step) {
      if (rest.length) return null;
      const whole = this.model.row(grand, []);
      return h("tr", { class: "total" }, h("th", { scope: "row" }, "Total"), h("td", { class: "drawn" }), number(whole, grand.shares, grand.step ?? step, whole.flag));
    }

    #drawGrid({ cells, rowTotals, columnTotals, grand }) {
      const { axes, fixed } = this.state;
      const { shares } = cells;
      const rest = axes.slice(2).map((axis) => fixed[axis]);
      const [down, across] = axes.slice(0, 2).map((axis) => this.store.attributes[axis].labels);
      const at = (row, column) => this.model.row(cells, [row, column, ...rest]);
      let rows = down.map((_, code) => code), columns = across.map((_, code) => code);
      const some = rows.filter((code) => this.#matches([down[code]]));
      if (some.length || !columns.some((code) => this.#matches([across[code]]))) rows = some;
      else columns = columns.filter((code) => this.#matches([across[code]]));
      const { column } = this.state;
      if (column !== null) {
        const value = (code) => (column.code < 0 ? this.model.row(rowTotals, [code, ...rest]) : at(code, column.code)).estimate;
        rows.sort((a, b) => column.sign * (value(b) - value(a)));
      }
      const found = rows.length;
      if (!this.state.all) rows = rows.slice(0, FIRST_ROWS);
      const most = Math.max(...cells.estimate);
      const heat = (td, row) => {
        if (row.estimate > 0 && most > 0) td.style.setProperty("--heat", (row.estimate / most).toFixed(3));
        return td;
      };
      const head = h("tr", {}, h("th", { scope: "col" }, `${this.label(axes[0])} \\ ${this.label(axes[1])}`),
        ...columns.map((code) => this.#columnHead(across[code], code)), this.#columnHead("Total", -1));
      const lines = rows.map((code) => {
        const total = this.model.row(rowTotals, [code, ...rest]);
        return h("tr", {}, h("th", { scope: "row" }, visible(down[code])),
          ...columns.map((other) => { const row = at(code, other); return heat(number(row, shares, cells.step, row.flag, { class: "cell" }), row); }),
          number(total, shares, rowTotals.step, total.flag, { class: "total" }));
      });
      if (rows.length === down.length) {
        const whole = this.model.row(grand, rest);
        lines.push(h("tr", { class: "total" }, h("th", { scope: "row" }, "Total"),
          ...columns.map((code) => { const row = this.model.row(columnTotals, [code, ...rest]); return number(row, shares, columnTotals.step, row.flag); }),
          number(whole, shares, grand.step, whole.flag, { class: "total" })));
      }
      this.gridRows = rows.flatMap((code) => columns.map((other) => at(code, other)));
      this.#place("grid", head, lines, shares);
      this.#tell(rows.length, found, down.length);
    }

    #columnHead(label, code) {
      const { column } = this.state;
      const sorted = column?.code === code ? (column.sign > 0 ? "descending" : "ascending") : "none";
      const next = sorted === "none" ? { code, sign: 1 } : sorted === "descending" ? { code, sign: -1 } : null;
      const arrow = { descending: " ↓", ascending: " ↑", none: "" }[sorted];
      return h("th", { scope: "col", class: "number", "aria-sort": sorted },
        h("span", { class: "printed" }, visible(label)),
        h("button", { type: "button", class: "sort", title: "Sort rows by this column", onclick: () => this.set({ column: next }) }, visible(label) + arrow));
    }

    #place(kind, head, lines, shares) {
      const caption = this.caption(shares);
      const table = h("table", { class: kind }, h("caption", {}, h("span", {}, caption)), h("thead", {}, head), h("tbody", {}, ...lines));
      const box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
      this.content.replaceChildren(box);
    }

    #tell(shown, found, whole) {
      const text = found < whole ? `${found.toLocaleString("en")} of ${whole.toLocaleString("en")} rows found` : "";
      this.status.textContent = text;
      if (shown < found) {
        this.content.append(h("button", { type: "button", class: "more", onclick: () => this.set({ all: true }) }, `Show all ${found.toLocaleString("en")} rows`));
      }
    }

    #level(table) { return `${Number((100 * table.level).toFixed(1))}%`; }

    // Where every cell is measured alone, a total has the noise of all of its cells.
    #aboutTotals(cells, totals) {
      const noise = (table) => table.std.reduce((sum, v) => sum + v * v, 0);
      if (cells.known && totals.known && noise(totals) > 0.999 * noise(cells)) return "Totals are no sharper than a sum of cells: they have the noise of all of them.";
      return "Totals are released numbers of their own, sharper than a sum of cells. Cells add up to them only up to noise and rounding.";
    }

    // Only what belongs to the numbers that are shown.
    #drawNotes({ cells, rowTotals }) {
      const notes = [];
      const counts = new Map();
      for (const row of this.model.rows(cells)) counts.set(row.flag, (counts.get(row.flag) || 0) + 1);
      for (const flag of this.about.flags) {
        if (!flag.mark || !counts.has(flag)) continue;
        const many = counts.get(flag);
        notes.push(h("li", {}, h("strong", { class: `mark flag-${flag.name}` }, flag.mark), ` ${many.toLocaleString("en")} of ${cells.cells.toLocaleString("en")} ${cells.cells === 1 ? "number" : "numbers"}: ${flag.meaning}.`));
      }
      const said = (text) => notes.push(h("li", {}, text));
      said(cells.known ? `Measured in full. The estimate is ${cells.unbiased.every((v, k) => v === cells.estimate[k]) && !cells.shares ? "the noisy count itself" : `a ${this.about.estimate}`}.` : "Not measured in full: the estimate is a model's guess. Rely on the interval.");
      if (!cells.shares) said(this.about.promise);
      else if (cells.fieller) said("The interval of a percentage takes in the errors of both numbers and what they have in common (Fieller's method). It holds as often as those of counts.");
      else said(`The interval of a percentage is the widest that the bounds of both numbers allow; it holds with ${this.#level(cells)} or more where theirs do.`);
      if (rowTotals) said(this.#aboutTotals(cells, rowTotals));
      for (const note of this.about.notes) said(visible(note));
      this.notes.replaceChildren(...notes);
    }

    // The rows that are shown, in their order, with all of a search's finds.
    taken() {
      const { axes, view, show } = this.state;
      const { cells } = this.shown;
      const rows = view === "grid" && axes.length > 1 ? this.gridRows : this.#ordered(this.model.rows(cells).filter((row) => this.#matches(row.labels)));
      const value = { count: "estimate", total: "share_of_total", row: "share_of_row", column: "share_of_column" }[show];
      const header = [...axes.map((axis) => this.store.attributes[axis].name), value, "lower", "upper", "quality", "measured"];
      const exact = (v) => (cells.shares && !Number.isNaN(v) ? Number(v.toPrecision(6)) : v);
      const lines = rows.map((row) => [...row.labels, exact(row.estimate), exact(row.lower), exact(row.upper), row.flag.name, cells.measured]);
      return { header, lines };
    }

    fileName() { return this.tableName().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80) || "total"; }

    saveCsv() {
      if (!this.shown) return;
      const { header, lines } = this.taken();
      save(csv(header, lines, this.about.raw), `${this.fileName()}.csv`);
    }

    saveXlsx() {
      if (!this.shown) return;
      const { header, lines } = this.taken();
      const notes = [this.about.title, this.caption(this.shown.cells.shares), ...[...this.notes.children].map((note) => note.textContent)];
      save(xlsx(header, lines, notes), `${this.fileName()}.xlsx`);
    }

    // The axes of names as they stand in an address: "age,sex".
    axesOf(text) {
      const names = text ? text.split(",").map(decodeURIComponent) : [];
      const axes = names.map((name) => this.store.attributes.findIndex((attribute) => attribute.name === name));
      const known = this.store.has(axes) || this.store.elsewhere(axes) !== undefined;
      return axes.includes(-1) || !known ? null : axes;
    }
  }

  return async (place, packed) => {
    if (typeof DecompressionStream === "undefined") {
      place.textContent = "This browser cannot unpack the tables. Any browser of 2023 or later can; the files beside this page hold them too.";
      return null;
    }
    return new Explorer(place, packed, await hushtable.data.Store.open(packed));
  };
})();
