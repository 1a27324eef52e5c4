// The runs of a sweep as a table: a click on a heading sorts it, words search it, and a name opens its run.

import { el, parts, show, table } from "./dom.js";
import { byValue } from "./run.js";

/** Maximum number of rows shown at once; more would be slow to draw and to read. */
const MOST_ROWS = 20;

/** Returns the indices of the rows whose text contains all words, in the order of a column. */
export function rowsOf(texts, values, words, down) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = texts.map((_, i) => i).filter((i) => wanted.every((word) => texts[i].toLowerCase().includes(word)));
  if (!values) return found;
  // Rows without a value come last in either direction.
  const none = (value) => Number(value === null || value !== value);
  return found.sort((a, b) => none(values[a]) - none(values[b]) || (none(values[a]) ? 0 : byValue(values[a], values[b]) * (down ? -1 : 1)) || a - b);
}

/** Returns a heading whose arrow stays with its last part. */
function headed(name, arrow) {
  const all = parts(name).flatMap((part) => (typeof part === "string" ? part.split(/(?<= )/) : [part]));
  const last = all.pop();
  return [...all, el("span", { class: "named" }, last, el("span", { class: "arrow", "aria-hidden": "true" }, arrow))];
}

/**
 * Creates a table of `count` rows. Columns are { name, number?, title?, value(i), cell(i) }: rows are sorted by value
 * and show the cell. `text(i)` is searched.
 */
export function runsTable(caption, count, columns, text) {
  const texts = Array.from({ length: count }, (_, i) => text(i));
  const body = el("div", {});
  const told = el("span", { role: "status" });
  const more = el("button", { type: "button", onclick: () => { most += 5 * MOST_ROWS; draw(); } });
  const search = el("input", { type: "search", id: "search-runs", "aria-label": "Search runs", placeholder: "words or settings", oninput: () => { most = MOST_ROWS; draw(); } });
  let most = MOST_ROWS;
  let by = null;
  let down = false;
  const sort = (i) => {
    down = by === i ? !down : false;
    by = i;
    draw();
    body.querySelectorAll("th button")[i].focus();
  };
  function draw() {
    const values = by === null ? null : Array.from({ length: count }, (_, i) => columns[by].value(i));
    const found = rowsOf(texts, values, search.value, down);
    const heads = columns.map((column, i) => ({
      ...column,
      name: el("button", { type: "button", class: "sort", onclick: () => sort(i) }, headed(column.name, by === i ? (down ? " ↓" : " ↑") : " ↕")),
      sort: by === i ? (down ? "descending" : "ascending") : "none",
    }));
    show(body, table(caption, heads, found.slice(0, most).map((i) => columns.map((column) => column.cell(i)))));
    told.textContent = ` ${Math.min(most, found.length)} of ${found.length} runs${found.length < count ? ` that match, of ${count}` : ""} `;
    more.hidden = found.length <= most;
    more.textContent = `Show ${Math.min(5 * MOST_ROWS, found.length - most)} more`;
  }
  const element = el("div", {}, el("p", { class: "search" }, el("label", {}, "Search ", search), told), body, more);
  draw();
  // In print, all matching rows are shown.
  const print = (on) => {
    most = on ? count : MOST_ROWS;
    draw();
  };
  return { element, draw, print };
}
