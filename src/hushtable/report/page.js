// Draws the charts one after the other, searches tables, and saves the data behind a chart.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("report-data").textContent);

  const drawAll = async () => {
    for (const [key, spec] of Object.entries(data.specs)) {
      const place = document.getElementById(`chart-${key}`);
      await vegaEmbed(place, spec, { actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom" } });
      await new Promise((next) => setTimeout(next));
    }
    document.documentElement.dataset.drawn = "yes";
  };

  const cell = (text, isNumber, first) => {
    const element = document.createElement(first ? "th" : "td");
    if (first) element.scope = "row";
    if (isNumber) element.className = "number";
    element.textContent = text;
    return element;
  };

  const search = (key, table) => {
    const box = document.getElementById(`${key}-search`);
    const body = document.querySelector(`#table-${key} tbody`);
    const status = document.getElementById(`${key}-status`);
    const show = () => {
      const words = box.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
      const found = table.rows.filter((row) => {
        const text = row.join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      });
      const shown = words.length ? found.slice(0, table.most) : found.slice(0, table.first);
      body.replaceChildren(...shown.map((row) => {
        const line = document.createElement("tr");
        line.append(...row.map((text, k) => cell(text, table.numbers[k], k === 0)));
        return line;
      }));
      status.textContent = `${shown.length.toLocaleString("en")} of ${found.length.toLocaleString("en")} shown`;
    };
    box.addEventListener("input", show);
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
  drawAll();
})();
