// What is shown of a release: which table, counts or shares of what, and their totals.
hushtable.Model = (() => {
  "use strict";
  const { codesOf, cellOf, shareLevel, sharesOf } = hushtable.data;

  // Axes in their order: rows, columns, and what is held fixed in a grid.
  class Model {
    constructor(store) { this.store = store; }

    // Counts, or shares of another table; of itself each is one, exactly.
    async numbers(axes, whole) {
      const table = await this.store.table(axes);
      if (whole === null) return { ...table, shares: false, level: 1 - this.store.about.alpha };
      if (axes.length === whole.length) {
        const one = new Float64Array(table.cells).fill(1);
        return { ...table, estimate: one, lower: one, upper: one, flags: new Float64Array(table.cells), shares: true, level: 1 };
      }
      const held = await this.store.table(whole);
      const made = sharesOf(this.store, table, held);
      return { ...table, ...made, shares: true, level: shareLevel(this.store.about, table, held), fieller: table.known && held.known };
    }

    // The tables that a view needs, each with what it is a share of.
    async content(axes, show) {
      const [row, column, ...rest] = axes;
      const rows = axes.length > 1 ? [row, ...rest] : [];
      const columns = [column, ...rest];
      const wholes = {
        count: [null, null, null, null],
        total: [[], [], [], []],
        row: [rows, rows, rest, rest],
        column: [columns, rest, columns, rest],
      }[show];
      const [cells, rowTotals, columnTotals, grand] = await Promise.all([
        this.numbers(axes, wholes[0]),
        axes.length > 1 ? this.numbers(rows, wholes[1]) : null,
        axes.length > 1 ? this.numbers(columns, wholes[2]) : null,
        axes.length > 0 ? this.numbers(rest, wholes[3]) : null,
      ]);
      return { cells, rowTotals, columnTotals, grand };
    }

    // One cell of such a table: labels, numbers and flag.
    row(table, codes) {
      const cell = cellOf(codes, table.sizes);
      const [estimate, lower, upper] = [table.estimate[cell], table.lower[cell], table.upper[cell]];
      const labels = codes.map((code, k) => this.store.attributes[table.axes[k]].labels[code]);
      return { codes, labels, estimate, lower, upper, flag: this.store.about.flags[table.flags[cell]] };
    }

    rows(table) {
      return Array.from({ length: table.cells }, (_, cell) => this.row(table, codesOf(cell, table.sizes)));
    }
  }

  return Model;
})();
