// Rows that are shown, as a CSV file or a spreadsheet.  No text in either is run as a formula.
hushtable.files = (() => {
  "use strict";
  const RISKY = /^'*[=+\-@\t\r\n＝＋－＠]/;
  const NUMBER = /^'*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

  // An apostrophe before what a spreadsheet would run, as every CSV file of a release has it.
  const harmless = (text) => (RISKY.test(text) && !NUMBER.test(text) ? `'${text}` : text);

  const csvField = (value, raw) => {
    if (value === null || Number.isNaN(value)) return "";
    if (typeof value === "number") return String(value);
    const text = raw ? value : harmless(value);
    return /[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
  };

  const csv = (header, rows, raw = false) =>
    [header, ...rows].map((row) => row.map((value) => csvField(value, raw)).join(",")).join("\n") + "\n";

  const escaped = (text) =>
    text.replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[character])
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");

  const columnName = (k) => (k < 26 ? "" : columnName(Math.floor(k / 26) - 1)) + String.fromCharCode(65 + (k % 26));

  const cell = (value, column, row, style) => {
    const place = `r="${columnName(column)}${row}"${style ? ` s="${style}"` : ""}`;
    if (value === null || Number.isNaN(value)) return "";
    if (typeof value === "number") return `<c ${place}><v>${value}</v></c>`;
    return `<c ${place} t="inlineStr"><is><t xml:space="preserve">${escaped(value)}</t></is></c>`;
  };

  const sheet = (rows, headed) => {
    const lines = rows.map((row, k) => {
      const cells = row.map((value, column) => cell(value, column, k + 1, headed && k === 0 ? 1 : 0)).join("");
      return `<row r="${k + 1}">${cells}</row>`;
    });
    const freeze = headed
      ? '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
      : "";
    return `${XML}<worksheet xmlns="${MAIN}">${freeze}<sheetData>${lines.join("")}</sheetData></worksheet>`;
  };

  const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
  const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
  const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const PARTS = "http://schemas.openxmlformats.org/package/2006";
  const TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml";

  // A workbook of two sheets: the rows, and what they are.
  const xlsx = (header, rows, notes) => {
    const names = ["Table", "Notes"];
    const files = {
      "[Content_Types].xml": `${XML}<Types xmlns="${PARTS}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/>${names.map((_, k) => `<Override PartName="/xl/worksheets/sheet${k + 1}.xml" ContentType="${TYPE}.worksheet+xml"/>`).join("")}</Types>`,
      "_rels/.rels": `${XML}<Relationships xmlns="${PARTS}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
      "xl/workbook.xml": `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${names.map((name, k) => `<sheet name="${name}" sheetId="${k + 1}" r:id="rId${k + 1}"/>`).join("")}</sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": `${XML}<Relationships xmlns="${PARTS}/relationships">${names.map((_, k) => `<Relationship Id="rId${k + 1}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${k + 1}.xml"/>`).join("")}<Relationship Id="rId3" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
      "xl/styles.xml": `${XML}<styleSheet xmlns="${MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf fontId="1" xfId="0" applyFont="1"/></cellXfs></styleSheet>`,
      "xl/worksheets/sheet1.xml": sheet([header, ...rows], true),
      "xl/worksheets/sheet2.xml": sheet(notes.map((note) => [note]), false),
    };
    return zipped(files);
  };

  const CRC = (() => {
    const table = new Uint32Array(256);
    for (let n = 0; n < 256; n++) {
      let c = n;
      for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
      table[n] = c >>> 0;
    }
    return table;
  })();

  const checksum = (bytes) => {
    let found = 0xffffffff;
    for (const byte of bytes) found = CRC[(found ^ byte) & 255] ^ (found >>> 8);
    return (found ^ 0xffffffff) >>> 0;
  };

  const little = (...pairs) => {
    const bytes = [];
    for (const [value, length] of pairs) for (let k = 0; k < length; k++) bytes.push((value / 256 ** k) & 255);
    return Uint8Array.from(bytes);
  };

  // A ZIP archive whose files are stored as they are; the same rows give the same bytes.
  const zipped = (files) => {
    const parts = [], listed = [];
    let offset = 0, directory = 0;
    for (const [name, text] of Object.entries(files)) {
      const path = new TextEncoder().encode(name), content = new TextEncoder().encode(text);
      const facts = [[20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [checksum(content), 4], [content.length, 4], [content.length, 4], [path.length, 2], [0, 2]];
      const head = little([0x04034b50, 4], ...facts);
      parts.push(head, path, content);
      const entry = little([0x02014b50, 4], [20, 2], ...facts, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]);
      listed.push(entry, path);
      offset += head.length + path.length + content.length;
      directory += entry.length + path.length;
    }
    const count = Object.keys(files).length;
    const end = little([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [directory, 4], [offset, 4], [0, 2]);
    return new Blob([...parts, ...listed, end], { type: `${TYPE}.sheet` });
  };

  const save = (content, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  return { csv, harmless, save, xlsx };
})();
