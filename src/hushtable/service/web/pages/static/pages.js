// What pages do beyond htmx: the explorer, charts, times of the reader's clock, sliders, and the builder of questions.
(() => {
  "use strict";
  const data = (id) => { const found = document.getElementById(id); return found ? JSON.parse(found.textContent) : null; };

  const openExplorer = async () => {
    const place = document.getElementById("explorer");
    const packed = data("explorer-data");
    if (!place || !packed) return;
    const explorer = await hushtable.explore(place, packed);
    if (explorer) await hushtable.address.linked(explorer, data("page-data").first, document.getElementById("explore"));
  };

  // Charts of a part, each drawn once.  A page forbids styles of its own, so none is put in.
  const drawCharts = async (part) => {
    const found = part.matches?.("script.charts") ? [part] : [...part.querySelectorAll("script.charts:not([data-drawn])")];
    for (const script of found) {
      script.dataset.drawn = "yes";
      const { specs, csv } = JSON.parse(script.textContent);
      for (const [key, spec] of Object.entries(specs ?? {})) {
        const place = document.getElementById(`chart-${key}`);
        if (place) await vegaEmbed(place, spec, { actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: { theme: "custom", disableDefaultStyle: true } });
        for (const button of document.querySelectorAll(`button[data-csv="${key}"]`)) button.onclick = () => save(csv[key], `${key}.csv`);
      }
    }
  };

  const save = (text, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // Times as the reader's clock has them.
  const tellTimes = (part) => {
    for (const time of part.querySelectorAll("time[data-seconds]")) {
      const moment = new Date(1000 * Number(time.dataset.seconds));
      time.dateTime = moment.toISOString();
      time.textContent = moment.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" });
      delete time.dataset.seconds;
    }
    for (const option of part.querySelectorAll("option[data-seconds]")) {
      const moment = new Date(1000 * Number(option.dataset.seconds));
      option.textContent += ` (${moment.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" })})`;
      delete option.dataset.seconds;
    }
  };

  const rounded = (value) => String(Number(value.toPrecision(2)));

  const slide = (slider) => {
    const box = document.getElementById(slider.dataset.for);
    const { power, unit } = slider.dataset;
    slider.addEventListener("input", () => {
      box.value = power ? rounded(Number(power) ** Number(slider.value)) : `${slider.value}${unit ?? ""}`;
    });
    box.addEventListener("input", () => {
      const value = parseFloat(box.value);
      if (power ? value > 0 : box.value.endsWith(unit ?? "")) slider.value = power ? Math.log(value) / Math.log(Number(power)) : value;
    });
  };

  // The plan follows the question, once there is one.
  const follow = (form) => {
    const ask = () => {
      const query = form.elements.query.value.trim();
      if (query && !/(WHERE|AND)$/i.test(query) && form.elements.synthetic.value) htmx.trigger(form, "plan");
    };
    form.addEventListener("input", (event) => { if (event.target.name) ask(); else if (event.target.dataset.for) ask(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("built", ask);
    document.body.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target.id === "source-field") ask(); });
  };

  const text = (value) => `'${value.replaceAll("'", "''")}'`;
  const name = (value) => (/^[a-z_][a-z0-9_]*$/.test(value) ? value : `"${value.replaceAll('"', '""')}"`);

  const build = (builder, form) => {
    const { attributes } = data("builder-data");
    const [names, operators, place] = ["name", "operator", "place"].map((part) => document.getElementById(`build-${part}`));
    const query = form.elements.query;
    const option = (value, label = value) => { const made = document.createElement("option"); made.value = value; made.textContent = label; return made; };
    const chosen = () => attributes[Number(names.value)];
    const offer = () => {
      const { kind, values } = chosen();
      const signs = kind === "number" ? [">=", "<=", "=", ">", "<"] : kind === "date" ? [">=", "<="] : ["=", "<>"];
      operators.replaceChildren(...signs.map((sign) => option(sign)));
      let box;
      if (kind === "categorical" || kind === "boolean") {
        box = document.createElement("select");
        box.replaceChildren(...(kind === "boolean" ? ["TRUE", "FALSE"] : values).map((value) => option(value)));
      } else {
        box = document.createElement("input");
        box.type = kind === "number" ? "number" : "date";
        box.step = "any";
      }
      box.id = "build-value";
      place.replaceChildren(box);
    };
    names.replaceChildren(...attributes.map((attribute, k) => option(String(k), attribute.label)));
    names.addEventListener("change", offer);
    offer();
    document.getElementById("build-add").addEventListener("click", () => {
      const { kind, name: column } = chosen();
      const given = place.firstChild.value;
      if (given === "") return;
      const value = kind === "categorical" || kind === "date" ? text(given) : given;
      const before = query.value.trim();
      const joint = /(WHERE|AND|OR)$/i.test(before) ? " " : /\bWHERE\b/i.test(before) ? " AND " : before ? " WHERE " : "COUNT WHERE ";
      query.value = `${before}${joint}${name(column)} ${operators.value} ${value}`;
      form.dispatchEvent(new Event("built"));
    });
    builder.hidden = false;
  };

  const ready = async () => {
    tellTimes(document);
    for (const slider of document.querySelectorAll("input[type=range][data-for]")) slide(slider);
    const form = document.getElementById("question");
    if (form) { follow(form); build(document.getElementById("builder"), form); }
    document.body.addEventListener("htmx:afterSettle", (event) => { tellTimes(document); drawCharts(event.detail.elt.parentElement ?? document); });
    await openExplorer();
    await drawCharts(document);
    document.documentElement.dataset.drawn = "yes";
  };
  ready();
})();
