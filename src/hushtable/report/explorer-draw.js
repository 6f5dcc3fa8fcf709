// Rows and grids of released numbers as elements: bars with error bars, percentages, marks of doubtful numbers.
// Shapes get attributes and not inline styles, so that a page may forbid those.
hushtable.draw = (() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  const h = (tag, properties = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  };

  const s = (tag, properties = {}, text = null) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
    if (text !== null) made.textContent = text;
    return made;
  };

  // A label as it is to be read: what is invisible in it is written out.
  const SPELLING = new Set("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2");
  const visible = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    if (SPELLING.has(character)) return character;
    const code = character.codePointAt(0);
    const known = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
    if (known) return known;
    if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 65536 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });

  const digitsOf = (step) => (step >= 1 ? 0 : Math.round(-Math.log10(step)));

  // Formats are made once: a table has thirty thousand numbers.
  const formats = new Map();
  const counts = (digits) => {
    if (!formats.has(digits)) formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
    return formats.get(digits);
  };

  const countText = (value, step) => {
    if (Number.isNaN(value)) return "–";
    return counts(digitsOf(step)).format(Object.is(value, -0) ? 0 : value);
  };

  const percentText = (value, width) => {
    if (Number.isNaN(value)) return "–";
    return `${(100 * value).toFixed(width < 0.002 ? 2 : 1)}%`;
  };

  // An estimate with its ends, as texts.
  const texts = (row, shares, step) => {
    const shown = shares ? (value) => percentText(value, row.upper - row.lower) : (value) => countText(value, step);
    if (shares && row.lower === 1 && row.upper === 1) return { value: "100%", ends: "" }; // a whole of itself
    return { value: shown(row.estimate), ends: `${shown(row.lower)} – ${shown(row.upper)}` };
  };

  const steps = (low, high, most) => {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((k) => k * power >= rough) * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  };

  // Where numbers lie on the axis, in per cent of its width.  Only bars from zero have a length that means something;
  // on the other axes a number is a dot.
  const scaleOf = (kind, rows, shares, most) => {
    const uppers = rows.map((row) => row.upper).filter(Number.isFinite);
    const high = Math.max(...uppers, shares ? 0.001 : 1);
    if (kind === "log") {
      const floor = Math.min(...rows.map((row) => row.lower).filter((v) => v > 0), ...rows.map((row) => row.estimate).filter((v) => v > 0), high / 10);
      const [a, b] = [Math.log10(Math.max(floor, shares ? 1e-5 : 0.5)), Math.log10(high)];
      const ticks = [];
      for (let k = Math.floor(a); k <= Math.ceil(b); k++) for (const m of b - a < 2 ? [1, 2, 5] : [1]) {
        const tick = Number((m * 10 ** k).toPrecision(3));
        if (Math.log10(tick) >= a - 1e-9 && Math.log10(tick) <= b + 1e-9) ticks.push(tick);
      }
      return { bars: false, ticks, most, place: (v) => (v > 0 ? Math.min(100, Math.max(0, (100 * (Math.log10(v) - a)) / (b - a || 1))) : 0) };
    }
    let low = 0, top = high;
    if (kind === "zoom") {
      low = Math.min(...rows.map((row) => row.lower).filter(Number.isFinite), high);
      const space = 0.04 * (high - low || high);
      low = Math.max(0, low - space);
      top = high + space;
    }
    return { bars: low === 0, most, ticks: steps(low, top, most), place: (v) => Math.min(100, Math.max(0, (100 * (v - low)) / (top - low || 1))) };
  };

  const axis = (scale, shares) => {
    const made = s("svg", { class: "axis", width: "100%", height: 18, "aria-hidden": "true" });
    const digits = Math.max(0, ...scale.ticks.map((tick) => (String(Number((100 * tick).toPrecision(6))).split(".")[1] || "").length));
    let last = -Infinity;
    for (const tick of scale.ticks) {
      const at = scale.place(tick);
      if (at - last < 60 / scale.most) continue; // its text would run into the one before
      last = at;
      const text = shares ? `${(100 * tick).toFixed(digits)}%` : tick.toLocaleString("en");
      made.append(s("text", { x: `${at}%`, y: 13, "text-anchor": at < 6 ? "start" : at > 92 ? "end" : "middle" }, text));
    }
    return made;
  };

  const bar = (row, scale, mark) => {
    const made = s("svg", { class: "bar", width: "100%", height: 22, "aria-hidden": "true" });
    for (const tick of scale.ticks) made.append(s("line", { class: "rule", x1: `${scale.place(tick)}%`, x2: `${scale.place(tick)}%`, y1: 0, y2: 22 }));
    if (Number.isNaN(row.estimate)) return made;
    const [low, at, high] = [row.lower, row.estimate, row.upper].map(scale.place);
    if (scale.bars) made.append(s("rect", { class: `fill ${mark}`, x: 0, y: 4, width: `${at}%`, height: 14 }));
    made.append(s("line", { class: "whisker", x1: `${low}%`, x2: `${high}%`, y1: 11, y2: 11 }));
    for (const end of [low, high]) made.append(s("line", { class: "whisker", x1: `${end}%`, x2: `${end}%`, y1: 6, y2: 16 }));
    if (!scale.bars) made.append(s("circle", { class: `dot ${mark}`, cx: `${at}%`, cy: 11, r: 3 }));
    return made;
  };

  // A number with its interval under it, and the mark of its flag.
  const number = (row, shares, step, flag, properties = {}) => {
    const shown = texts(row, shares, step);
    const mark = flag && flag.mark ? h("abbr", { class: "mark", title: `${flag.name}: ${flag.meaning}` }, flag.mark) : null;
    return h("td", { ...properties, class: `number ${flag ? `flag-${flag.name}` : ""} ${properties.class || ""}` },
      h("span", { class: "value" }, shown.value, mark), h("span", { class: "ends" }, shown.ends));
  };

  return { axis, bar, countText, h, number, percentText, scaleOf, texts, visible };
})();
