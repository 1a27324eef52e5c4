// The map of reclaim units: one cell each, coloured by handle, valid share or erases.

import { choice, el, section, show, svg, table } from "./dom.js";
import { count, percent } from "./format.js";
import { colour, css, handleIndex, mix, page, rgb, share } from "./colours.js";
import { exporters } from "./exporting.js";

/** How long a collected RU stays marked, in milliseconds. */
const FLASH = 700;
/** Maximum share of the RUs marked at once; more would hide the map. */
const MARKED = 0.01;

export function unitsPanel(state) {
  const map = new UnitMap();
  const modes = choice("Color", "units", [["handle", "Handle"], ["valid", "Valid share"], ["erases", "Erases"]], "handle",
    (mode) => { map.mode = mode; map.name(); map.draw(); });
  // On the live page, the map is on the first screen, and its numbers open below it.
  const body = el("div", {});
  const numbers = state.live ? el("details", {}, el("summary", {}, "Reclaim units by owner"), body) : body;
  const csv = () => [["reclaim_unit", "owner", "valid_pages", "pages", "erases", "open"], ...map.rows()];
  const element = section("units", "Reclaim units", [modes, ...exporters("reclaim-units", () => map.svg(), csv)], map.element, numbers);
  let shown = 0;
  const update = (key) => {
    const units = state.runs[state.selected]?.units;
    element.hidden = !units;
    if (!units) return;
    map.set(units, state.live ? String(state.selected) : null);
    // A live drive sends many states a second; the table beside the map does not follow each.
    const now = performance.now();
    if (key === "live" && now - shown < 1000) return;
    shown = now;
    show(body, owners(units),
      units.stride > 1 ? el("p", { class: "note" }, `Each ${units.stride}th of ${count(units.count)} RUs is shown.`) : null);
  };
  return { element, update, map, print: (on) => map.print(on) };
}

/** Returns the name of the owner of each reclaim unit, "retired" for a retired one. */
function naming(units) {
  const names = units.owners.map((key) => (key === "gc" ? "gc" : `handle ${key}`));
  const retired = new Set(units.retired);
  return (i) => names[units.owner[i]] ?? (retired.has(i) ? "retired" : "free");
}

/** Returns a square in the colour of an owner; retired reclaim units are crossed out. */
function square(fill, name) {
  const node = el("span", { class: name === "retired" ? "square retired" : "square", "aria-hidden": "true" });
  node.style.backgroundColor = fill;
  return node;
}

/** Creates the table of RUs and valid share by owner. */
function owners(units) {
  const of = new Map();
  const nameOf = naming(units);
  for (let i = 0; i < units.owner.length; i += 1) {
    const name = nameOf(i);
    const row = of.get(name) ?? { rus: 0, valid: 0, full: 0, index: units.owner[i] };
    row.rus += 1;
    row.valid += units.valid[i];
    if (units.valid[i] >= 0.9 * units.pages) row.full += 1;
    of.set(name, row);
  }
  const rows = [...of].sort((a, b) => a[1].index - b[1].index || (a[0] === "retired") - (b[0] === "retired")).map(([name, row]) => [
    el("span", { class: "named" }, square(row.index < 0 ? page().free : css(hue(units, row.index)), name), " ", name), count(row.rus),
    row.index < 0 ? "–" : percent(row.valid / (row.rus * units.pages)),
    row.index < 0 ? "–" : percent(row.full / row.rus),
  ]);
  return table("Reclaim units by owner", [
    { name: "owner" }, { name: "RUs", number: true }, { name: "mean valid share", number: true }, { name: "at least 90 % valid", number: true },
  ], rows);
}

/** Returns the colour of a handle, which depends on its number, not on its position in the list. */
function hue(units, index) {
  return rgb(colour(handleIndex(units.owners[index])));
}

/** Draws the colour scale of the modes that show a share. */
export function scale() {
  const bar = el("span", { class: "scale", "aria-hidden": "true" });
  bar.style.background = `linear-gradient(90deg, ${Array.from({ length: 9 }, (_, i) => css(share(i / 8))).join(",")})`;
  return bar;
}

class UnitMap {
  constructor() {
    this.mode = "handle";
    this.units = null;
    this.flashes = new Map();
    this.canvas = el("canvas", {
      class: "map", tabindex: "0", role: "img", onmousemove: (e) => this.hover(e), onmouseleave: () => this.tell(-1),
      onkeydown: (e) => this.press(e), ontouchstart: (e) => this.hover(e.touches[0]),
    });
    this.words = el("div", { class: "readout", role: "status" });
    this.collected = el("span", { class: "collected" });
    this.legend = el("p", { class: "legend" });
    this.key = el("p", { class: "note" });
    // Collections are only marked on a drive that is running.
    this.live = false;
    this.turn = 0;
    this.printed = el("div", { class: "printed" });
    this.element = el("div", { class: "units" }, this.canvas, this.printed, this.words, this.legend, this.key);
    this.small = document.createElement("canvas");
    this.at = -1;
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Shows reclaim units; `live` identifies the running drive that they belong to, or is null. */
  set(units, live) {
    const before = this.live !== null && this.live === live ? this.units.erases : [];
    const collected = [];
    // A run that starts over has fewer erases: nothing has been collected since.
    const goes = before.length === units.erases.length && before.every((erases, i) => erases <= units.erases[i]);
    if (goes) before.forEach((erases, i) => { if (erases < units.erases[i]) collected.push(i); });
    const other = this.units !== units;
    this.live = live;
    this.units = units;
    if (other) this.mark(collected);
    if (this.at >= units.owner.length) this.at = -1;
    this.words.textContent = this.at < 0 ? "" : this.describe(this.at);
    this.name();
    this.canvas.setAttribute("aria-label",
      `Map of ${count(units.owner.length)} reclaim units. Arrow keys read one unit after the other; the table below summarizes them.`);
    this.draw();
  }

  /** Updates the legend of the mode. */
  name() {
    const entry = (name, fill) => el("span", { class: "entry" }, square(fill, name), ` ${name} `);
    // An owner without RUs is not on the map; every handle has at least its open RU.
    const entries = this.units.owners.map((key, i) => entry(key === "gc" ? "gc" : `handle ${key}`, css(hue(this.units, i))));
    const retired = this.units.retired?.length ? entry("retired", page().free) : null;
    show(this.legend, ...(this.mode === "handle" ? [entries, entry("free", page().free)] : []), retired);
    this.legend.hidden = this.legend.childElementCount === 0;
    const most = this.units.erases.reduce((a, b) => Math.max(a, b), 0);
    const meaning = {
      handle: ["Faint: little is valid."],
      valid: ["Valid: none ", scale(), " all."],
      erases: ["Erases: 0 ", scale(), ` ${count(most)}.`],
    }[this.mode];
    show(this.key, ...meaning, " Outlined: open.", this.live === null ? null : " Framed in red: just collected.", this.collected);
  }

  /** Marks RUs that were just collected: all if they are few, otherwise a sample spread over the map. */
  mark(collected) {
    const most = Math.max(8, Math.round(MARKED * this.units.erases.length));
    const every = Math.max(1, collected.length / most);
    const until = performance.now() + FLASH;
    this.flashes.clear();
    // A different sample each time; otherwise the same few would always be framed.
    this.turn = (this.turn + 0.618) % 1;
    for (let i = this.turn * (every - 1); i < collected.length; i += every) this.flashes.set(collected[Math.floor(i)], until);
    this.collected.textContent = collected.length === 0 ? ""
      : ` ${count(collected.length)} ${collected.length === 1 ? "RU was" : "RUs were"} collected since the last picture${every > 1 ? `, ${count(this.flashes.size)} of them are framed` : ""}.`;
  }

  layout() {
    const width = Math.max(200, this.element.clientWidth);
    const n = this.units.owner.length;
    const side = Math.max(4, Math.min(18, Math.floor(Math.sqrt((width * 340) / Math.max(1, n)))));
    const columns = Math.max(1, Math.floor(width / side));
    return { side, columns, rows: Math.ceil(n / columns), n };
  }

  /** Returns the colour of a reclaim unit by its index, in the current mode. */
  colours() {
    const { owner: owners, valid, pages, erases } = this.units;
    const [free, back] = [rgb(page().free), rgb(page().back)];
    const hues = this.units.owners.map((_, i) => hue(this.units, i));
    const most = erases.reduce((a, b) => Math.max(a, b), 0);
    return (i) => {
      if (this.mode === "erases") return share(most ? erases[i] / most : 0);
      if (owners[i] < 0) return free;
      const part = valid[i] / pages;
      if (this.mode === "valid") return share(part);
      return mix(mix(back, hues[owners[i]], 0.15), hues[owners[i]], part);
    };
  }

  /** Draws one pixel per RU, then enlarges the image: 10,000 RUs take a millisecond or two. */
  draw() {
    if (!this.units) return;
    const { side, columns, rows, n } = this.layout();
    const { back, text } = page();
    const colourOf = this.colours();
    this.small.width = columns;
    this.small.height = rows;
    const small = this.small.getContext("2d");
    const image = small.createImageData(columns, rows);
    for (let i = 0; i < n; i += 1) {
      const [r, g, b] = colourOf(i);
      image.data.set([r, g, b, 255], 4 * i);
    }
    small.putImageData(image, 0, 0);
    const scale = globalThis.devicePixelRatio || 1;
    const [width, height] = [columns * side, rows * side];
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.small, 0, 0, width, height);
    context.strokeStyle = back;
    context.lineWidth = 1;
    context.beginPath();
    for (let c = 0; c <= columns; c += 1) { context.moveTo(c * side + 0.5, 0); context.lineTo(c * side + 0.5, height); }
    for (let r = 0; r <= rows; r += 1) { context.moveTo(0, r * side + 0.5); context.lineTo(width, r * side + 0.5); }
    context.stroke();
    const frame = (i, style, line) => {
      context.strokeStyle = style;
      context.lineWidth = line;
      context.strokeRect((i % columns) * side + 1.5, Math.floor(i / columns) * side + 1.5, side - 2, side - 2);
    };
    for (const i of this.units.open) frame(i, text, 1);
    context.beginPath();
    for (const i of this.units.retired ?? []) {
      const [x, y] = [(i % columns) * side, Math.floor(i / columns) * side];
      context.moveTo(x + 2, y + 2);
      context.lineTo(x + side - 1, y + side - 1);
      context.moveTo(x + side - 1, y + 2);
      context.lineTo(x + 2, y + side - 1);
    }
    context.strokeStyle = text;
    context.lineWidth = 1;
    context.stroke();
    const now = performance.now();
    for (const [i, until] of this.flashes) {
      if (until < now) this.flashes.delete(i);
      else frame(i, "#e4003a", 2);
    }
    if (this.at >= 0) frame(this.at, text, 2);
    if (this.flashes.size && !this.waiting) {
      this.waiting = setTimeout(() => { this.waiting = null; this.draw(); }, FLASH);
    }
    // The text about collected RUs disappears with the last mark.
    if (this.flashes.size === 0) this.collected.textContent = "";
  }

  hover(event) {
    if (!this.units) return;
    const { side, columns, n } = this.layout();
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / side);
    const i = Math.floor((event.clientY - box.top) / side) * columns + column;
    this.tell(column < columns && i >= 0 && i < n ? i : -1);
  }

  press(event) {
    const { columns, n } = this.layout();
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (by === undefined || n === 0) return;
    event.preventDefault();
    this.tell(Math.max(0, Math.min(n - 1, Math.max(0, this.at) + (this.at < 0 ? 0 : by))));
  }

  tell(i) {
    if (i === this.at) return;
    this.at = i;
    this.words.textContent = i < 0 ? "" : this.describe(i);
    this.draw();
  }

  describe(i) {
    const { valid, pages, erases, open, stride } = this.units;
    const name = naming(this.units)(i);
    const state = this.units.owner[i] < 0 ? name : `${name}, ${open.includes(i) ? "open" : "closed"}`;
    return `RU ${i * stride}: ${state}, ${count(valid[i])} of ${count(pages)} pages valid (${percent(valid[i] / pages)}), erased ${count(erases[i])} times`;
  }

  rows() {
    const { valid, pages, erases, open, stride } = this.units;
    const opened = new Set(open);
    const nameOf = naming(this.units);
    return Array.from(valid, (v, i) => [i * stride, this.units.owners[this.units.owner[i]] ?? nameOf(i), v, pages, erases[i], opened.has(i) ? 1 : 0]);
  }

  /** As for a chart. */
  print(on) {
    show(this.printed, on && this.units ? this.svg() : null);
  }

  /** Returns the map as SVG, with one path per colour. */
  svg() {
    const side = 8;
    const n = this.units.owner.length;
    const columns = Math.max(1, Math.ceil(Math.sqrt(n * 2)));
    const [width, height] = [columns * side, Math.ceil(n / columns) * side];
    const colourOf = this.colours();
    const paths = new Map();
    for (let i = 0; i < n; i += 1) {
      // 32 steps of each colour channel: the eye cannot distinguish more here.
      const key = css(colourOf(i).map((c) => Math.min(255, Math.round(c / 8) * 8)));
      paths.set(key, `${paths.get(key) ?? ""}M${(i % columns) * side} ${Math.floor(i / columns) * side}h7v7h-7z`);
    }
    const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` }, svg("rect", { width, height, fill: page().back }));
    for (const [fill, d] of paths) root.append(svg("path", { d, fill }));
    const at = (i, draw) => `M${(i % columns) * side} ${Math.floor(i / columns) * side}${draw}`;
    const line = (units, draw) => svg("path", { d: units.map((i) => at(i, draw)).join(""), fill: "none", stroke: page().text });
    root.append(line(this.units.open, "m.5 .5h6v6h-6z"), line(this.units.retired ?? [], "m1 1l5 5m0 -5l-5 5"));
    return root;
  }
}
