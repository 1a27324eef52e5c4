// A line chart with zoom, readout, keyboard control and export. uPlot draws the points that thin.js keeps.

import { el, show } from "./dom.js";
import { colour, dash, isDark, page } from "./colours.js";
import { LAYOUT } from "./chart_layout.js";
import { endings, placeLabels } from "./chart_ends.js";
import { nearest, thin } from "./thin.js";
import { chartSvg } from "./chart_svg.js";

const HEIGHT = 300;
const KEYS = "Left and right arrow: read values. Plus and minus: zoom. Shift with an arrow: move. 0: everything.";

/** Charts of the page by id, for tests and for debugging in the console. */
export const charts = new Map();

export class Chart {
  /**
   * `title` is read aloud and appears in exports. `format(y)` formats values, `formatX(x)` the position under the
   * pointer. `zoomed(range)` is called after zooming, with null for the whole range. `ticksX(low, high, pixels)` and
   * `ticksY(low, high, pixels)` return tick positions that are not round numbers. The y axis always includes `least`
   * and spans at least `span`.
   */
  constructor({ id, title, yLabel, format, formatX, zoomed, least, span, height, ticksX, ticksY }) {
    Object.assign(this, { id, title, yLabel, format, formatX, zoomed, least, span, ticksX, ticksY });
    this.height = height ?? HEIGHT;
    this.series = [];
    this.xLabel = "";
    this.range = null;
    this.at = null;
    this.place = 0;
    this.drawn = [];
    this.plot = null;
    this.canvas = el("div", { class: "plot" });
    this.readout = el("div", { class: "readout" });
    this.printed = el("div", { class: "printed" });
    this.element = el("div", {
      class: "chart", id, tabindex: "0", role: "group", "aria-label": `Chart: ${title}. ${KEYS}`,
      onkeydown: (event) => this.key(event),
      ondblclick: () => this.zoom(null),
    }, this.canvas, this.readout, this.printed);
    this.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    charts.set(id, this);
  }

  /** Draws series [{ label, x, y, index, dashed?, points?, thin? }]; NaN in y is a gap. */
  set(series, xLabel) {
    for (const s of series) s.x = ascending(s.x);
    const same = this.plot && this.dark === isDark() && this.xLabel === xLabel
      && this.series.length === series.length
      && series.every((s, i) => s.label === this.series[i].label && s.index === this.series[i].index);
    this.series = series;
    this.xLabel = xLabel;
    if (!same) this.build();
    this.draw();
  }

  /** The range from the first to the last x. */
  extent() {
    let low = Infinity;
    let high = -Infinity;
    for (const { x } of this.series) {
      if (!x.length) continue;
      low = Math.min(low, x[0]);
      high = Math.max(high, x[x.length - 1]);
    }
    if (low === Infinity) return [0, 1];
    return low < high ? [Math.min(0, low), high] : [Math.min(0, low), low + 1];
  }

  /** Whether a line ends before the last x of the chart. */
  endsEarly({ x, points }) {
    const [low, high] = this.extent();
    return !points && x.length > 0 && x[x.length - 1] < high - 0.005 * (high - low);
  }

  /** Shows the range of x; null shows everything. */
  zoom(range) {
    const [low, high] = this.extent();
    if (range) {
      const from = Math.max(low, range[0]);
      const to = Math.min(high, range[1]);
      if (!(to - from > (high - low) * 1e-9)) return;
      range = from <= low && to >= high ? null : [from, to];
    }
    this.range = range;
    this.draw();
    this.zoomed?.(range);
  }

  /** The visible range of x. */
  visible() {
    return this.range ?? this.extent();
  }

  build() {
    this.plot?.destroy();
    this.dark = isDark();
    const { text, grid } = page();
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid }, font: "12px sans-serif", labelFont: "12px sans-serif" };
    const line = (s) => ({
      label: s.label, stroke: colour(s.index), width: s.points ? 1 : s.thin ? 1 : 2,
      dash: s.points ? [4, 4] : dash(s.index), points: { show: Boolean(s.points), size: 7, fill: page().back, width: 2 },
    });
    this.plot = new globalThis.uPlot({
      width: this.width(), height: this.height,
      legend: { show: false },
      cursor: {
        drag: { x: true, y: false, setScale: true, dist: 4 },
        points: { show: false },
        bind: { dblclick: () => null },
      },
      scales: { x: { time: false, range: () => this.visible() }, y: { range: (_, low, high) => this.rangeOfY(low, high) } },
      axes: [
        { ...axis, label: this.xLabel, size: 34, labelSize: 20, ...splits(this.ticksX, () => this.width() - 90), values: (_, places) => places.map(this.formatX.axis ?? plain) },
        { ...axis, label: this.yLabel, size: (u, values) => this.sizeOfY(u, values), ...splits(this.ticksY, () => this.height - 72), values: (_, splits) => splits.map((v) => this.tick(v)) },
      ],
      series: [{}, ...this.series.map(line)],
      hooks: {
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          const range = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          this.zoom(range);
        }],
        draw: [(u) => this.drawEnds(u)],
        setCursor: [(u) => this.read(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null)],
      },
    }, [[]], this.canvas);
    // A selection zooms through `zoom`, which thins again.
    this.plot.cursor.drag.setScale = false;
  }

  tick(value) {
    return this.format.axis ? this.format.axis(value) : plain(value);
  }

  /** Returns the room for the longest tick label, so that the axis title does not overlap it. */
  sizeOfY(u, values) {
    const { ctx } = u;
    ctx.save();
    ctx.font = "12px sans-serif";
    const widest = Math.max(0, ...(values ?? []).map((text) => ctx.measureText(text ?? "").width));
    ctx.restore();
    return Math.max(40, Math.ceil(widest) + 20);
  }

  /** Marks the ends of series that end before the others. */
  drawEnds(u) {
    const { ctx, bbox } = u;
    const scale = globalThis.devicePixelRatio || 1;
    ctx.save();
    ctx.font = `${12 * scale}px sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    const area = { left: bbox.left, right: bbox.left + bbox.width, top: bbox.top, bottom: bbox.top + bbox.height, line: 15 * scale };
    const marks = endings(this, this.width()).map((end) => ({ ...end, px: u.valToPos(end.x, "x", true), py: u.valToPos(end.y, "y", true), width: ctx.measureText(end.text).width }));
    const { back, text: ink } = page();
    for (const { px, py, text, left, top } of placeLabels(marks, area)) {
      // In the text colour: in that of the line, the mark would look like a jump.
      ctx.fillStyle = ink;
      ctx.beginPath();
      ctx.arc(px, py, LAYOUT.end * scale, 0, 2 * Math.PI);
      ctx.fill();
      ctx.lineWidth = 4 * scale;
      ctx.strokeStyle = back;
      ctx.lineJoin = "round";
      ctx.strokeText(text, left, top);
      ctx.fillStyle = ink;
      ctx.fillText(text, left, top);
    }
    ctx.restore();
  }

  rangeOfY(low, high) {
    const span = this.span ?? 0;
    if (low === null || high === null || !Number.isFinite(low)) return [0, span || 1];
    const floor = Math.min(this.least ?? low, low);
    const top = Math.max(high > floor ? high : floor + 1, floor + span);
    const room = (top - floor) * 0.06;
    return [floor === 0 ? 0 : floor - room, top + room];
  }

  width() {
    return Math.max(240, this.canvas.clientWidth || 640);
  }

  resize() {
    if (this.plot && this.plot.width !== this.width()) {
      this.plot.setSize({ width: this.width(), height: this.height });
      this.draw();
    }
  }

  draw() {
    if (!this.plot) return;
    const [from, to] = this.visible();
    const buckets = Math.max(100, Math.min(2000, Math.round(this.width())));
    this.drawn = this.series.map(({ x, y }) => {
      const kept = thin(x, y, from, to, buckets);
      return { x: kept.map((i) => x[i]), y: kept.map((i) => (y[i] === y[i] ? y[i] : null)) };
    });
    const tables = this.drawn.filter((d) => d.x.length).map((d) => [d.x, d.y]);
    if (tables.length === 0) {
      this.plot.setData([[], ...this.series.map(() => [])]);
    } else {
      const joined = globalThis.uPlot.join(tables);
      let column = 1;
      const columns = this.drawn.map((d) => (d.x.length ? joined[column++] : joined[0].map(() => undefined)));
      this.plot.setData([joined[0], ...columns]);
    }
    this.read(this.at);
  }

  /** Returns the x of the visible sample nearest to a position, or of any sample if none is visible. */
  sampleAt(place) {
    const [from, to] = this.visible();
    let best = null;
    const seen = (x) => x >= from && x <= to;
    for (const { x } of this.series) {
      if (!x.length) continue;
      const n = nearest(x, place);
      for (const at of [x[n - 1], x[n], x[n + 1]]) {
        if (at === undefined || (best !== null && seen(best) && !seen(at))) continue;
        if (best === null || (seen(at) && !seen(best)) || Math.abs(at - place) < Math.abs(best - place)) best = at;
      }
    }
    return best ?? place;
  }

  /** Shows the samples nearest to an x in the readout, with their x; null shows the last ones. */
  read(at) {
    this.at = at;
    const [from, to] = this.visible();
    const place = this.sampleAt(at === null ? to : Math.min(to, Math.max(from, at)));
    this.place = place;
    const entries = this.series.map((s, i) => {
      let n = s.x.length ? nearest(s.x, place) : -1;
      // Without a pointer, a series that ends with a gap shows its last value.
      if (at === null) while (n > 0 && s.y[n] !== s.y[n]) n -= 1;
      const value = n < 0 ? NaN : s.y[n];
      // A series without a sample here shows its nearest one, with its x.
      const apart = n >= 0 && Math.abs(s.x[n] - place) > 0.005 * (to - from);
      return el("span", { class: "entry" }, swatch(s), ` ${s.label} `, el("b", { "data-series": i }, this.format(value)),
        apart && this.formatX(s.x[n]) !== this.formatX(place) ? ` at ${this.formatX(s.x[n])}` : null);
    });
    show(this.readout, el("span", { class: "at" }, this.formatX(place)), el("span", { class: "entries" }, entries));
    this.cross();
  }

  /** Moves the vertical line of the cursor to the sample in the readout. */
  cross() {
    if (this.at === null || !this.plot) return;
    const left = Math.round(this.plot.valToPos(this.place, "x"));
    const line = this.plot.over.querySelector(".u-cursor-x");
    if (line && Number.isFinite(left)) line.style.transform = `translate(${left}px, 0px)`;
  }

  key(event) {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const [from, to] = this.visible();
    const span = to - from;
    const at = this.at === null ? to : this.place;
    const actions = {
      "+": () => this.zoom([at - span / 4, at + span / 4]),
      "=": () => this.zoom([at - span / 4, at + span / 4]),
      "-": () => this.zoom([from - span / 2, to + span / 2]),
      0: () => this.zoom(null),
      ArrowLeft: () => (event.shiftKey ? this.move(-span / 5) : this.step(this.sampleBeside(at, -span / 50))),
      ArrowRight: () => (event.shiftKey ? this.move(span / 5) : this.step(this.sampleBeside(at, span / 50))),
      Home: () => this.step(from),
      End: () => this.step(to),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Returns the x of the sample about `by` away, at least that of the next sample. */
  sampleBeside(at, by) {
    const found = this.sampleAt(at + by);
    if ((found - at) * by > 0) return found;
    const beyond = this.series.flatMap(({ x }) => (by > 0 ? x.find((v) => v > at) : x.findLast((v) => v < at)) ?? []);
    return beyond.length ? (by > 0 ? Math.min(...beyond) : Math.max(...beyond)) : at;
  }

  step(at) {
    const [from, to] = this.visible();
    this.readout.setAttribute("aria-live", "polite");
    this.read(Math.min(to, Math.max(from, at)));
    const left = this.plot.valToPos(this.place, "x");
    this.plot.setCursor({ left, top: 10 }, false);
    this.cross();
  }

  move(by) {
    const [low, high] = this.extent();
    const [from, to] = this.visible();
    const shift = Math.max(low - from, Math.min(high - to, by));
    this.zoom([from + shift, to + shift]);
  }

  /** The wheel zooms with Ctrl, and scrolls the page without. */
  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const [from, to] = this.visible();
    const at = this.at === null ? (from + to) / 2 : this.place;
    const factor = event.deltaY > 0 ? 1.25 : 0.8;
    this.zoom([at - (at - from) * factor, at + (to - at) * factor]);
  }

  /** Returns the chart as SVG. */
  svg() {
    return chartSvg(this);
  }

  /** Inserts the chart as SVG for printing, which does not redraw a canvas, or removes it. */
  print(on) {
    show(this.printed, on && this.plot ? this.svg() : null);
  }

  /** Returns all samples as rows [series, x, y], without gaps. */
  rows() {
    return this.series.flatMap(({ label, x, y }) =>
      Array.from(x, (at, i) => [label, at, y[i]]).filter((row) => row[2] === row[2]));
  }
}

/** Formats a number with all its decimals except the last digits of a binary fraction. */
export function plain(value) {
  return String(Number(value.toPrecision(9)));
}

/** Returns the option of an axis with custom tick positions. */
function splits(ticks, pixels) {
  return ticks && { splits: (_, __, low, high) => ticks(low, high, pixels()) };
}

/** Returns a sample of a series' line, for legends. */
export function swatch(s) {
  const pattern = s.points ? "4 4" : dash(s.index).join(" ");
  const node = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [k, v] of Object.entries({ width: 26, height: 10, "aria-hidden": "true", class: "swatch" })) node.setAttribute(k, v);
  for (const [k, v] of Object.entries({ x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour(s.index), "stroke-width": s.thin ? 1 : 3, "stroke-dasharray": pattern })) line.setAttribute(k, v);
  node.append(line);
  return node;
}

/** Returns x if it ascends; otherwise separates equal values by a hair, so that every sample is drawn. */
function ascending(x) {
  let apart = true;
  for (let i = 1; i < x.length && apart; i += 1) apart = x[i] > x[i - 1];
  if (apart || x.length < 2) return x;
  const hair = Math.max((x[x.length - 1] - x[0]) * 1e-9, Number.EPSILON * Math.abs(x[x.length - 1]) * 4, 1e-12);
  const moved = Float64Array.from(x);
  for (let i = 1; i < moved.length; i += 1) if (moved[i] <= moved[i - 1]) moved[i] = moved[i - 1] + hair;
  return moved;
}
