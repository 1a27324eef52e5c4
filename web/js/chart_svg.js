// A chart as SVG, with the same points, axes and legend as on the screen.

import { svg } from "./dom.js";
import { cut, endings, placeLabels } from "./chart_ends.js";
import { LAYOUT } from "./chart_layout.js";
import { colour, dash, page } from "./colours.js";

const { width: WIDTH, right: RIGHT, top: TOP, bottom: BOTTOM, legend: LEGEND } = LAYOUT;
const HEIGHT = BOTTOM + LAYOUT.below;
/** Mean width of a character in labels: an SVG cannot measure text before it is shown. */
const CHARACTER = 6.7;

/** Returns about `count` round numbers between two values. */
export function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = LAYOUT.ticks.steps.map((m) => m * power).find((s) => s >= rough) ?? rough;
  const places = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i += 1) places.push(Number((i * step).toPrecision(12)));
  return places;
}

/** Returns a chart as an SVG element. */
export function chartSvg(chart) {
  const { text, grid, back } = page();
  const legend = LEGEND.line * chart.series.length;
  const [x0, x1] = chart.visible();
  let low = Infinity;
  let high = -Infinity;
  for (const { x, y } of chart.drawn) {
    for (let i = 0; i < y.length; i += 1) {
      if (y[i] === null || x[i] < x0 || x[i] > x1) continue;
      low = Math.min(low, y[i]);
      high = Math.max(high, y[i]);
    }
  }
  const [y0, y1] = chart.rangeOfY(low, high);
  const yTicks = chart.ticksY?.(y0, y1, BOTTOM - TOP) ?? ticks(y0, y1, LAYOUT.ticks.y);
  const left = 40 + CHARACTER * Math.max(4, ...yTicks.map((y) => chart.tick(y).length));
  const px = (x) => left + ((x - x0) / (x1 - x0)) * (WIDTH - left - RIGHT);
  const py = (y) => BOTTOM - ((y - y0) / (y1 - y0)) * (BOTTOM - TOP);
  const label = (x, y, anchor, words, more) =>
    svg("text", { x, y, "text-anchor": anchor, fill: text, ...more }, words);
  const clip = `clip-${chart.id}`;
  const root = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${WIDTH} ${HEIGHT + legend}`,
    width: WIDTH, height: HEIGHT + legend, "font-family": "sans-serif", "font-size": 12,
  });
  root.append(
    svg("rect", { width: WIDTH, height: HEIGHT + legend, fill: back }),
    svg("clipPath", { id: clip }, svg("rect", { x: left, y: TOP, width: WIDTH - left - RIGHT, height: BOTTOM - TOP })),
    label(left, LAYOUT.title, "start", cut(chart.title, (WIDTH - left - RIGHT) / 9), { "font-size": 15, "font-weight": "bold" }),
  );
  for (const x of chart.ticksX?.(x0, x1, WIDTH - left - RIGHT) ?? ticks(x0, x1, LAYOUT.ticks.x)) {
    root.append(
      svg("line", { x1: px(x), x2: px(x), y1: TOP, y2: BOTTOM, stroke: grid }),
      label(px(x), BOTTOM + LAYOUT.tick_x, "middle", chart.formatX.axis ? chart.formatX.axis(x) : String(x)),
    );
  }
  for (const y of yTicks) {
    root.append(
      svg("line", { x1: left, x2: WIDTH - RIGHT, y1: py(y), y2: py(y), stroke: grid }),
      label(left - LAYOUT.tick_y[0], py(y) + LAYOUT.tick_y[1], "end", chart.tick(y)),
    );
  }
  root.append(
    label((left + WIDTH - RIGHT) / 2, BOTTOM + LAYOUT.axis_x, "middle", chart.xLabel),
    label(0, 0, "middle", chart.yLabel, { transform: `translate(${LAYOUT.axis_y} ${(TOP + BOTTOM) / 2}) rotate(-90)` }),
  );
  chart.series.forEach((s, i) => {
    const { x, y } = chart.drawn[i];
    const stroke = colour(s.index);
    const pattern = s.points ? "4 4" : dash(s.index).join(" ");
    root.append(svg("path", {
      d: path(x.map(px), y.map((v) => (v === null ? null : py(v)))), fill: "none", stroke,
      "stroke-width": s.points || s.thin ? 1 : 2, "stroke-dasharray": pattern, "clip-path": `url(#${clip})`,
    }));
    if (s.points) {
      y.forEach((v, j) => {
        if (v !== null && x[j] >= x0 && x[j] <= x1) {
          root.append(svg("circle", { cx: px(x[j]), cy: py(v), r: 3.5, fill: back, stroke, "stroke-width": 2 }));
        }
      });
    }
    const at = HEIGHT + LEGEND.line * i;
    root.append(
      svg("line", { x1: left, x2: left + LEGEND.sample, y1: at, y2: at, stroke, "stroke-width": s.thin ? 1 : 3, "stroke-dasharray": pattern }),
      label(left + LEGEND.label, at + LAYOUT.tick_y[1], "start", s.label),
    );
  });
  const marks = endings(chart, WIDTH).map((end) => ({ ...end, px: px(end.x), py: py(end.y), width: CHARACTER * end.text.length }));
  for (const end of placeLabels(marks, { left, right: WIDTH - RIGHT, top: TOP, bottom: BOTTOM, line: 15 })) {
    root.append(
      svg("circle", { cx: end.px, cy: end.py, r: LAYOUT.end, fill: text, class: "end" }),
      label(end.left, end.top + 4, "start", end.text, { stroke: back, "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" }),
    );
  }
  return root;
}

/** Returns a path through points; null breaks it, and a single point becomes a short dash. */
function path(x, y) {
  let d = "";
  let open = false;
  for (let i = 0; i < x.length; i += 1) {
    if (y[i] === null) open = false;
    else {
      d += `${open ? "L" : "M"}${x[i].toFixed(1)} ${y[i].toFixed(1)}`;
      if (!open && (i + 1 === x.length || y[i + 1] === null)) d += "h1";
      open = true;
    }
  }
  return d;
}
