// WAF over written volume or time, for the runs or for the handles of a run.

import { LAYOUT } from "./chart_layout.js";
import { button, choice, el, section } from "./dom.js";
import { waf, times, seconds } from "./format.js";
import { axisOf, hasTime, last, onlyReads, series } from "./run.js";
import { handleIndex } from "./colours.js";
import { Chart } from "./chart.js";
import { exporters } from "./exporting.js";

const NAMES = LAYOUT.waf;

const RULE = "Cumulative: media bytes written (MBMW) over host bytes written (HBMW) since the start. Instantaneous: the "
  + "same between two samples. Clamped: instantaneous, cut at the limit. An interval without host writes but with media "
  + "writes has no finite ratio: instantaneous shows a gap there and clamped the limit; an interval without either "
  + "is a gap in both.";

function formatOf(name) {
  return Object.assign((value) => waf(value), { named: name });
}

/** Returns one series of a metric: of the device if `key` is null, otherwise of a handle. */
function line(state, run, key, axis, label, index) {
  const all = axis.of(run);
  const { points, values } = series(run, key, state.metric, state.limit, state.interval);
  return { label, index, x: points ? Float64Array.from(points, (i) => all[i]) : all, y: values };
}

function place(state) {
  const volumes = state.runs.every((run) => run.logical);
  return (x) => (state.axis === "time" ? seconds(x) : volumes ? times(x) : `${x.toPrecision(4)} GB`);
}

function chartOf(state, id, title, height) {
  return new Chart({
    id, title, height, yLabel: NAMES.label, format: formatOf(id), least: 1, formatX: (x) => place(state)(x),
  });
}

function csvOf(state, chart) {
  const runs = () => chart.rows().map(([label, x, y]) => [label, x, y]);
  return () => [["series", chart.xLabel, NAMES[state.metric]], ...runs()];
}

/** Creates the controls of metric, axis and interval, which apply to every chart. */
export function controls(state) {
  const limit = el("input", {
    type: "number", min: "1.1", max: "1000", step: "0.1", value: state.limit, id: "limit", "aria-label": "Limit of clamped WAF",
    onchange: (event) => {
      const value = Number(event.target.value);
      if (value > 1 && Number.isFinite(value)) state.set("limit", value);
      else event.target.value = state.limit;
    },
  });
  const interval = el("select", { id: "interval", onchange: (event) => state.set("interval", Number(event.target.value)) },
    [[0, "one sample"], [0.01, "1 % of the run"], [0.05, "5 % of the run"], [0.1, "10 % of the run"]].map(([value, text]) =>
      el("option", { value, selected: value === state.interval }, text)));
  const axes = el("span", {});
  const row = el("div", { class: "controls" },
    choice("Show", "metric", [["cumulative", "Cumulative"], ["instantaneous", "Instantaneous"], ["clamped", "Clamped"]],
      state.metric, (value) => state.set("metric", value)),
    el("label", { class: "when-clamped" }, "Limit ", limit),
    el("label", { class: "when-interval" }, "Interval ", interval),
    axes,
    el("label", { class: "when-published" },
      el("input", { type: "checkbox", id: "published", checked: true, onchange: (e) => state.set("published", e.target.checked) }),
      " Published curves"));
  let time = false;
  const update = () => {
    row.hidden = onlyReads(state);
    row.dataset.metric = state.metric;
    row.querySelector(".when-published").hidden = !state.runs.some((run) => run.published.length);
    if (time !== hasTime(state.runs)) {
      time = hasTime(state.runs);
      axes.replaceChildren(...(time
        ? [choice("Over", "axis", [["volume", "Host writes"], ["time", "Time"]], state.axis, (value) => state.set("axis", value))]
        : []));
      if (!time && state.axis === "time" && state.runs.length) state.axis = "volume";
    }
  };
  return { element: row, update };
}

/** WAF of the runs, with published curves. */
export function wafPanel(state) {
  const chart = chartOf(state, "waf-chart", "WAF", state.short ? 205 : state.live ? 260 : 340);
  const none = el("p", { class: "note", hidden: true }, "No host writes, so WAF is undefined.");
  const rule = el("details", { class: "note" }, el("summary", {}, "What is shown"), el("p", {}, RULE));
  const update = () => {
    none.hidden = !onlyReads(state);
    for (const node of [chart.element, rule, element.querySelector(".tools")]) node.hidden = !none.hidden;
    if (!none.hidden) return;
    const runs = state.runs;
    const axis = axisOf(runs, state.axis);
    const lines = [];
    for (const run of runs) if (run.shown) lines.push(line(state, run, null, axis, run.label, run.index));
    if (state.published && state.metric === "cumulative" && axis.at) {
      for (const run of runs.filter(({ shown }) => shown)) {
        for (const p of run.published) {
          const x = p.host.map((host) => axis.at(run, host));
          const end = axis.at(run, last(run.host));
          const length = x.filter((at) => at <= end * 1.001).length;
          // A curve of a larger drive may begin after the end of the run.
          if (length) lines.push({ label: `published, for ${run.label}`, index: run.index, points: true, x: x.slice(0, length), y: p.waf.slice(0, length) });
        }
      }
    }
    chart.title = NAMES[state.metric].replace(/^./, (c) => c.toUpperCase());
    chart.set(lines, axis.label);
  };
  const element = section("waf", "Write amplification",
    [button("−", "Zoom out", () => chart.zoom(widen(chart, 2))), button("+", "Zoom in", () => chart.zoom(widen(chart, 0.5))),
      button("All", "Show everything", () => chart.zoom(null)),
      ...exporters("waf", () => chart.svg(), csvOf(state, chart))],
    none, chart.element, rule);
  return { element, update, chart };
}

function widen(chart, factor) {
  const [from, to] = chart.visible();
  const middle = (from + to) / 2;
  return [middle - ((to - from) / 2) * factor, middle + ((to - from) / 2) * factor];
}

/** WAF of each handle of the selected run. */
export function handleChart(state) {
  const chart = chartOf(state, "handles-chart", "WAF by handle", state.short ? 185 : 260);
  const update = (run) => {
    chart.title = `${NAMES[state.metric]} by handle, ${run.label}`.replace(/^./, (c) => c.toUpperCase());
    const axis = axisOf([run], state.axis === "time" && !run.seconds ? "volume" : state.axis);
    chart.set(run.handles.map((h) => line(state, run, h.key, axis, h.label, handleIndex(h.key))), axis.label);
  };
  return { chart, update, data: csvOf(state, chart) };
}
