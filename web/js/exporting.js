// Saves pictures as SVG and PNG, and their data as CSV.

import { button } from "./dom.js";

/** Returns export buttons; `picture()` returns an SVG element, `data()` rows, of which the first has the names. */
export function exporters(name, picture, data) {
  const file = (ending) => `${name}.${ending}`;
  return [
    picture && button("SVG", "Save the picture as SVG", () => save(file("svg"), "image/svg+xml", xml(picture()))),
    picture && button("PNG", "Save the picture as PNG", async () => saveBlob(file("png"), await png(picture()))),
    data && button("CSV", "Save the data as CSV", () => save(file("csv"), "text/csv", csv(data()))),
  ].filter(Boolean);
}

/** Formats rows as CSV (RFC 4180). Text that a spreadsheet would take for a formula is prefixed with a quote. */
export function csv(rows) {
  const cell = (value) => {
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    let text = String(value ?? "");
    if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Serializes an SVG element as a document. */
export function xml(node) {
  return new XMLSerializer().serializeToString(node);
}

/** Renders the picture as PNG at twice its size. */
export async function png(node) {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(xml(node))}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * Number(node.getAttribute("width"));
  canvas.height = 2 * Number(node.getAttribute("height"));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** Saves content as a file. */
export function save(name, type, text) {
  saveBlob(name, new Blob([text], { type }));
}

function saveBlob(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
