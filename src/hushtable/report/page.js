// Draws the charts one after the other, opens the explorer, searches tables, and saves the data behind a chart.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("report-data").textContent);

  const PAPER = 680; // pixels between the margins of A4: a chart that was only shrunk to it has letters of five points
  const views = [];

  const drawAll = async () => {
    for (const [key, spec] of Object.entries(data.specs)) {
      const place = document.getElementById(`chart-${key}`);
      const { view } = await vegaEmbed(place, spec, { actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom" } });
      views.push(view);
      await new Promise((next) => setTimeout(next));
    }
  };

  const openExplorer = async () => {
    const packed = document.getElementById("explorer-data");
    const place = document.getElementById("explorer");
    if (!packed || !place) return;
    const explorer = await hushtable.explore(place, JSON.parse(packed.textContent));
    if (explorer) await hushtable.address.linked(explorer, data.first, document.getElementById("explore"));
  };

  const cell = (text, isNumber, link) => {
    const element = document.createElement(link === undefined ? "td" : "th");
    if (link !== undefined) element.scope = "row";
    if (isNumber) element.className = "number";
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link;
      anchor.textContent = text;
      element.append(anchor);
    } else {
      element.textContent = text;
    }
    return element;
  };

  const search = (key, table) => {
    const box = document.getElementById(`${key}-search`);
    const body = document.querySelector(`#table-${key} tbody`);
    const status = document.getElementById(`${key}-status`);
    const more = document.createElement("button");
    more.type = "button";
    let room = table.first;
    const rows = table.rows.map((row, k) => ({ row, text: row.join(" ").toLowerCase(), link: table.links ? table.links[k] : "" }));
    const show = () => {
      const words = box.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
      const found = rows.filter(({ text }) => words.every((word) => text.includes(word)));
      const shown = found.slice(0, Math.max(room, words.length ? table.most : 0));
      body.replaceChildren(...shown.map(({ row, link }) => {
        const line = document.createElement("tr");
        line.append(...row.map((text, k) => cell(text, table.numbers[k], k === 0 ? link : undefined)));
        return line;
      }));
      status.textContent = `${shown.length.toLocaleString("en")} of ${found.length.toLocaleString("en")} shown`;
      label(found.length - shown.length);
    };
    const label = (left) => {
      more.hidden = left === 0;
      more.textContent = `Show ${Math.min(left, table.most).toLocaleString("en")} more`;
    };
    more.addEventListener("click", () => {
      room = body.children.length + table.most;
      show();
    });
    box.addEventListener("input", () => {
      room = table.first;
      show();
    });
    label(rows.length - body.children.length);
    status.after(more);
  };

  const save = (button) => {
    const link = document.createElement("a");
    const text = data.csv[button.dataset.csv];
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `${button.dataset.csv}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const [key, table] of Object.entries(data.tables)) search(key, table);
  for (const button of document.querySelectorAll("button[data-csv]")) {
    button.addEventListener("click", () => save(button));
  }
  window.addEventListener("beforeprint", () => { for (const view of views) view.signal("width", PAPER).run(); });
  window.addEventListener("afterprint", () => window.dispatchEvent(new Event("resize")));
  openExplorer().then(drawAll).then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
