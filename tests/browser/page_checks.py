"""Checks of a page that run inside the browser, each an expression that gives a list of what is wrong.

CONTRAST is WCAG 2's ratio of 4.5 to 1 for text (3 to 1 for large text), chart labels included; NAMELESS are controls,
pictures and tables without an accessible name; REFERENCES are links and labels that point nowhere.
"""

CONTRAST = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const over = (top, share, below) => [0, 1, 2].map((k) => share * top[k] + (1 - share) * below[k]);
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const colour = parse(getComputedStyle(element).backgroundColor);
    const share = colour.length === 4 ? colour[3] : 1;
    return share === 1 ? colour : over(colour, share, behind(element.parentElement));
  };
  const wrong = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const style = getComputedStyle(element);
    const unseen = style.visibility === "hidden" || style.display === "none" || !element.getClientRects().length;
    const hidden = unseen || element.closest(".hidden, option");
    if (!own || hidden || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    const drawn = element instanceof SVGElement;
    const ink = light(parse(drawn ? style.fill : style.color));
    const paper = light(behind(drawn ? element.closest(".chart") || element : element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const what = element.textContent.slice(0, 30);
    if (ratio < (large ? 3 : 4.5)) wrong.push(`${element.tagName} ${ratio.toFixed(2)} ${what}`);
  }
  return wrong;
})()"""

NAMELESS = """(() => {
  const named = (e) =>
    e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.getAttribute("alt") || e.textContent.trim()
    || (e.id && document.querySelector(`label[for="${e.id}"]`)) || e.closest("label")?.textContent.trim();
  const wrong = [];
  const controls = "button, input:not([type=hidden]), select, textarea";
  const kinds = `${controls}, img, a, [role=img], [role=region], figure, nav, section`;
  for (const e of document.querySelectorAll(kinds)) {
    if (!named(e)) wrong.push(`no name: ${e.tagName} ${e.id}`);
  }
  for (const e of document.querySelectorAll("[role=img]")) {
    if ((e.getAttribute("aria-label") || "").length < 20) wrong.push(`no description: ${e.id}`);
  }
  for (const e of document.querySelectorAll("table")) {
    if (!e.caption) wrong.push(`no caption: ${e.id}`);
    if (e.querySelector("th:not([scope])") || !e.querySelector("thead th")) wrong.push(`no headers: ${e.id}`);
  }
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  let last = 1;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = Number(e.tagName[1]);
    if (level > last + 1) wrong.push(`heading skips: ${e.textContent}`);
    last = level;
  }
  return wrong;
})()"""

REFERENCES = """(() => {
  const ids = new Set([...document.querySelectorAll("[id]")].map((e) => e.id));
  const wrong = [];
  for (const e of document.querySelectorAll("a[href^='#']:not([href^='#table='])")) {
    if (!ids.has(e.getAttribute("href").slice(1))) wrong.push(e.getAttribute("href"));
  }
  for (const e of document.querySelectorAll("[aria-labelledby], label[for]")) {
    const name = e.getAttribute("aria-labelledby") || e.getAttribute("for");
    if (!ids.has(name)) wrong.push(name);
  }
  return wrong;
})()"""
