// Released tables as explorer.py packs them: unpacking, intervals, shares, flags.  Nothing here touches the page.
var hushtable = globalThis.hushtable || {};
globalThis.hushtable = hushtable;

hushtable.data = (() => {
  "use strict";
  const UNBIASED = 0, FITTED = 1, BOUNDED = 2;
  const COLUMNS = [2, 3, 4];
  const MEASURED = ["fully", "partly", "derived"];

  const inflated = async (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  // Four planes of bytes, the sign in the lowest bit.
  const wholeNumbers = (planes) => {
    const length = planes.length / 4;
    const found = new Float64Array(length);
    for (let k = 0; k < length; k++) {
      const unsigned = planes[k] + 256 * planes[length + k] + 65536 * planes[2 * length + k] + 16777216 * planes[3 * length + k];
      found[k] = unsigned % 2 ? -(unsigned + 1) / 2 : unsigned / 2;
    }
    return found;
  };

  const key = (axes) => [...axes].sort((a, b) => a - b).join(",");

  // All tables of a page.  `table` gives one whose cells lie in the order of the axes that are asked for.
  class Store {
    static async open(packed) {
      const index = JSON.parse(new TextDecoder().decode(await inflated(packed.index)));
      return new Store(packed, index);
    }

    constructor(packed, index) {
      this.about = packed;
      this.attributes = packed.attributes;
      this.sizes = packed.attributes.map((attribute) => attribute.labels.length);
      this.index = index;
      this.places = new Map(index.sets.map((axes, k) => [key(axes), k]));
      this.others = new Map();
      for (const { file, sets } of index.elsewhere) for (const axes of sets) this.others.set(key(axes), file);
      this.pieces = packed.pieces;
      this.unpacked = new Map();
      this.shares = [];
      for (let axis = 0; axis < this.sizes.length; axis++) this.shares.push(this.#shareOf(axis));
    }

    has(axes) { return this.places.has(key(axes)); }

    // The file of a table that is on another page.
    elsewhere(axes) { return this.others.get(key(axes)); }

    // The attributes that can be added to some: a table of all of them is here or on another page.
    next(axes) {
      const wanted = this.attributes.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
      return wanted.filter((axis) => this.has([...axes, axis]) || this.elsewhere([...axes, axis]) !== undefined);
    }

    async table(axes) {
      const sorted = [...axes].sort((a, b) => a - b);
      const number = this.places.get(key(axes));
      const table = await this.#read(number, sorted);
      return sorted.every((axis, k) => axis === axes[k]) ? table : turned(table, axes);
    }

    async #read(number, axes) {
      const { index } = this;
      let piece = index.begins.length - 1;
      while (index.begins[piece] > number) piece--;
      if (!this.unpacked.has(piece)) this.unpacked.set(piece, inflated(this.pieces[piece]).then(wholeNumbers));
      const numbers = await this.unpacked.get(piece);
      let at = 0;
      for (let k = index.begins[piece]; k < number; k++) at += this.#columns(k) * this.#cells(index.sets[k]);
      return this.#decoded(number, axes, numbers, at);
    }

    #cells(axes) { return axes.reduce((product, axis) => product * this.sizes[axis], 1); }

    #columns(k) { return COLUMNS[Number(this.index.kinds[k])] + (Array.isArray(this.index.error[k]) ? 1 : 0); }

    #decoded(number, axes, numbers, at) {
      const { index } = this;
      const kind = Number(index.kinds[number]);
      const step = index.steps[number];
      const cells = this.#cells(axes);
      const column = (k) => numbers.subarray(at + k * cells, at + (k + 1) * cells);
      const made = { axes, sizes: axes.map((axis) => this.sizes[axis]), cells, step: step * index.finer, known: kind !== BOUNDED,
        measured: MEASURED[Number(index.measured[number])], asked: index.asked[number] === "1" };
      for (const name of ["estimate", "lower", "upper", "unbiased", "std", "reach", "far"]) made[name] = new Float64Array(cells);
      const classes = Array.isArray(index.error[number]) ? column(COLUMNS[kind]) : null;
      // Counts of steps divide exactly: 3 steps of 0.1 are 0.3, where 3 * 0.1 is not.
      const per = step < 1 ? Math.round(1 / step) : 1;
      const shown = (steps) => (step < 1 ? steps / per : steps * step);
      made.flags = column(0);
      const estimates = column(1);
      for (let k = 0; k < cells; k++) {
        const own = estimates[k];
        const value = shown(own);
        made.estimate[k] = value;
        if (kind === BOUNDED) {
          made.lower[k] = Math.max(0, shown(own - column(2)[k]));
          made.upper[k] = shown(own + column(3)[k]);
          made.unbiased[k] = made.std[k] = made.reach[k] = made.far[k] = NaN;
          continue;
        }
        const [std, reach, far] = index.errors[classes ? index.error[number][classes[k]] : index.error[number]];
        const unbiased = kind === FITTED ? shown(own + column(2)[k]) : value;
        made.unbiased[k] = unbiased;
        made.std[k] = std;
        made.reach[k] = reach;
        made.far[k] = far;
        made.lower[k] = Math.max(0, Math.min(value, unbiased - reach));
        made.upper[k] = Math.max(this.about.least * reach, value, unbiased + reach);
      }
      return made;
    }

    // Which part of the noise of a whole each category carries: one over the sizes of the blocks above it.
    #shareOf(axis) {
      const { parent, blocks, labels } = this.attributes[axis];
      const found = new Float64Array(labels.length);
      for (let block = 0; block + 1 < blocks.length; block++) {
        for (let code = blocks[block]; code < blocks[block + 1]; code++) {
          const above = parent >= 0 ? this.shares[parent][block] : 1;
          found[code] = above / (blocks[block + 1] - blocks[block]);
        }
      }
      return found;
    }
  }

  const NUMBERS = ["estimate", "lower", "upper", "unbiased", "std", "reach", "far", "flags"];

  const strides = (sizes) => {
    const found = new Array(sizes.length).fill(1);
    for (let k = sizes.length - 2; k >= 0; k--) found[k] = found[k + 1] * sizes[k + 1];
    return found;
  };

  // The category of every axis in a cell.
  const codesOf = (cell, sizes) => {
    const found = new Array(sizes.length);
    for (let k = sizes.length - 1; k >= 0; k--) {
      found[k] = cell % sizes[k];
      cell = Math.floor(cell / sizes[k]);
    }
    return found;
  };

  const cellOf = (codes, sizes) => codes.reduce((cell, code, k) => cell * sizes[k] + code, 0);

  const turned = (table, axes) => {
    const sizes = axes.map((axis) => table.sizes[table.axes.indexOf(axis)]);
    const steps = strides(table.sizes);
    const own = axes.map((axis) => steps[table.axes.indexOf(axis)]);
    const made = { ...table, axes: [...axes], sizes };
    for (const name of NUMBERS) made[name] = new Float64Array(table.cells);
    for (let cell = 0; cell < table.cells; cell++) {
      const from = codesOf(cell, sizes).reduce((sum, code, k) => sum + code * own[k], 0);
      for (const name of NUMBERS) made[name][cell] = table[name][from];
    }
    return made;
  };

  // All r with (part - r whole)^2 <= z^2 Var(part - r whole), inside 0 and 1 (Fieller).  The noise of a part is
  // `share` times that of its whole, and more that is independent of it: so their covariance is share times variance.
  const fieller = (part, whole, share) => {
    const z = Math.max(part.std > 0 ? part.reach / part.std : 0, whole.std > 0 ? whole.reach / whole.std : 0);
    const cross = share * whole.std ** 2;
    const a = whole.unbiased ** 2 - (z * whole.std) ** 2;
    const b = part.unbiased * whole.unbiased - z * z * cross;
    const c = part.unbiased ** 2 - (z * part.std) ** 2;
    const root = b * b - a * c;
    if (a <= 0 || root < 0 || whole.unbiased <= 0) return [0, 1];
    return [(b - Math.sqrt(root)) / a, (b + Math.sqrt(root)) / a];
  };

  // Where an error is not known: the least part of the largest whole, the largest part of the least one.
  const ratios = (part, whole) => {
    const least = whole.known ? whole.unbiased - whole.far : whole.lower;
    const most = whole.known ? whole.unbiased + whole.far : whole.upper;
    return [most > 0 ? part.lower / most : 0, least > 0 ? part.upper / least : 1];
  };

  const at = (table, cell) => {
    const made = { known: table.known };
    for (const name of NUMBERS) made[name] = table[name][cell];
    return made;
  };

  // The number of a flag of `about.flags`: by the relative standard error that an interval implies, or near zero.
  const flagOf = (about, estimate, lower, upper) => {
    if (!(upper > lower)) return 0;
    if (lower <= 0 || estimate <= 0) return 3;
    const relative = (upper - lower) / (2 * about.spread) / estimate;
    return relative > about.limits[1] ? 2 : relative > about.limits[0] ? 1 : 0;
  };

  // Every cell of a table as a share of the cell of a smaller one that holds it.
  const sharesOf = (store, table, whole) => {
    const kept = whole.axes.map((axis) => table.axes.indexOf(axis));
    const dropped = table.axes.map((_, k) => k).filter((k) => !kept.includes(k));
    const made = { axes: table.axes, sizes: table.sizes, cells: table.cells };
    for (const name of ["estimate", "lower", "upper", "flags"]) made[name] = new Float64Array(table.cells);
    for (let cell = 0; cell < table.cells; cell++) {
      const codes = codesOf(cell, table.sizes);
      const part = at(table, cell);
      const held = at(whole, cellOf(kept.map((k) => codes[k]), whole.sizes));
      const estimate = held.estimate > 0 ? Math.min(1, Math.max(0, part.estimate / held.estimate)) : NaN;
      const carried = dropped.reduce((product, k) => product * store.shares[table.axes[k]][codes[k]], 1);
      const [low, high] = part.known && held.known ? fieller(part, held, carried) : ratios(part, held);
      made.estimate[cell] = estimate;
      made.lower[cell] = Math.min(Math.max(0, low), Number.isNaN(estimate) ? 1 : estimate);
      made.upper[cell] = Math.max(Math.min(1, high), Number.isNaN(estimate) ? 0 : estimate);
      made.flags[cell] = flagOf(store.about, estimate, made.lower[cell], made.upper[cell]);
    }
    return made;
  };

  // The level that shares of a table hold at: 95% where both errors are known, else what the two together leave.
  const shareLevel = (about, table, whole) => {
    if (table.known && whole.known) return 1 - about.alpha;
    return 1 - about.alpha - (whole.known ? about.far : about.alpha);
  };

  return { Store, codesOf, cellOf, fieller, flagOf, key, shareLevel, sharesOf };
})();
