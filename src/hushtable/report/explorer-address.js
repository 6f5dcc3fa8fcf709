// The address of what an explorer shows, as #table=age,sex&view=bars&show=row: a link that leads back to it.
hushtable.address = (() => {
  "use strict";
  const CHOICES = { view: ["bars", "grid"], show: ["count", "total", "row", "column"], axis: ["zero", "zoom", "log"], order: ["own", "down", "up", "label"] };
  const usual = (axes) => ({ view: axes.length < 2 ? "bars" : "grid", show: "count", axis: "zero", order: "own" });

  const written = ({ store, state }) => {
    const name = (axis) => encodeURIComponent(store.attributes[axis].name);
    const parts = [`table=${state.axes.map(name).join(",")}`];
    for (const [key, value] of Object.entries(usual(state.axes))) if (state[key] !== value) parts.push(`${key}=${state[key]}`);
    for (const axis of state.axes.slice(2)) if (state.fixed[axis]) parts.push(`only.${name(axis)}=${state.fixed[axis]}`);
    if (state.column) parts.push(`sort=${state.column.code},${state.column.sign > 0 ? "down" : "up"}`);
    if (state.search) parts.push(`find=${encodeURIComponent(state.search)}`);
    return `#${parts.join("&")}`;
  };

  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return ""; } };

  // What an address asks for, or null: axes, and of the rest what this release has.
  const read = (explorer, hash) => {
    const given = new Map(hash.replace(/^#/, "").split("&").map((part) => part.split(/=(.*)/s)));
    if (!given.has("table")) return null;
    const axes = explorer.axesOf(given.get("table") ?? "");
    if (axes === null) return null;
    const more = { fixed: {} };
    for (const [key, values] of Object.entries(CHOICES)) if (values.includes(given.get(key))) more[key] = given.get(key);
    if (axes.length < 2) { delete more.view; if (!["count", "total"].includes(more.show)) delete more.show; }
    if (!axes.length) more.show = "count";
    for (const axis of axes.slice(2)) {
      const { name, labels } = explorer.store.attributes[axis];
      const code = Number(given.get(`only.${encodeURIComponent(name)}`));
      more.fixed[axis] = Number.isInteger(code) && code >= 0 && code < labels.length ? code : 0;
    }
    const [code, sign] = (given.get("sort") ?? "").split(",");
    const columns = axes.length > 1 ? explorer.store.attributes[axes[1]].labels.length : 0;
    if (/^-?\d+$/.test(code) && Number(code) >= -1 && Number(code) < columns) more.column = { code: Number(code), sign: sign === "up" ? -1 : 1 };
    if (given.has("find")) more.search = decoded(given.get("find"));
    return { axes, more: { ...usual(axes), ...more } };
  };

  // Keep the page's address and the explorer together: links lead to tables, and what is picked can be linked to.
  const linked = async (explorer, first, place) => {
    const follow = async () => {
      const asked = read(explorer, location.hash);
      if (asked === null) return false;
      await explorer.show(asked.axes, asked.more);
      place.scrollIntoView();
      return true;
    };
    if (!(await follow())) await explorer.show(first);
    explorer.onshow = () => { if (location.hash !== written(explorer)) location.replace(written(explorer)); };
    addEventListener("hashchange", () => { if (location.hash !== written(explorer)) follow(); });
  };

  return { linked, read, written };
})();
