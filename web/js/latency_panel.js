// Latency of runs with a clock: a table, percentile curves of all runs, and the selected run over time.

import { section, show, el, table } from "./dom.js";
import { count, micros, rate, seconds, tick } from "./format.js";
import { column, DIRECTIONS } from "./run.js";
import { Chart, swatch } from "./chart.js";
import { exporters } from "./exporting.js";

const COLUMNS = ["50", "99", "99.9", "99.99"];
/** Axes are in nines for percentiles, and logarithmic for latencies. */
const nines = (percent) => -Math.log10(1 - percent / 100);
const percentile = (at) => `p${Number((100 * (1 - 10 ** -at)).toFixed(Math.max(0, Math.ceil(at) - 2) + 1))}`;
const latency = Object.assign((value) => micros(10 ** value), { axis: (value) => tick(micros(10 ** value)) });
const whole = (low, high) => Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, i) => Math.ceil(low) + i);
/** Minimum pixels between two ticks on an axis of latencies and on one of percentiles. */
const APART = { y: 16, x: 56 };
/** Sets of multiples of a power of ten that get ticks: coarse first, finer ones for narrow ranges. */
const MULTIPLES = [[1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9],
  ...[2, 5, 10, 20, 50, 100].map((parts) => Array.from({ length: 9 * parts }, (_, i) => 1 + i / parts))];
/** Returns the ticks of the first set with at least three. Of two that are too close, the lower `rank` stays. */
function spaced(sets, apart, rank) {
  const kept = sets.map((set) => {
    const chosen = [];
    for (const at of [...set].sort((a, b) => rank(a) - rank(b) || a - b)) if (chosen.every((other) => Math.abs(other - at) >= apart)) chosen.push(at);
    return chosen.sort((a, b) => a - b);
  });
  return kept.find((set) => set.length >= 3) ?? kept.reduce((most, set) => (set.length >= most.length ? set : most));
}
/** Returns the ticks of a logarithmic axis of this many pixels. */
export function powers(low, high, pixels = Infinity) {
  const ticks = (multiples) => whole(low - 1, high).flatMap((power) => multiples.map((multiple) => power + Math.log10(multiple)))
    .filter((at) => at >= low && at <= high);
  const round = (value) => Math.abs(value - Math.round(value)) < 1e-9;
  const rank = (at) => [1, 5, 2, null].findIndex((multiple) => multiple === null || round(at - Math.log10(multiple)));
  return spaced(MULTIPLES.map(ticks), (APART.y * (high - low)) / pixels, rank);
}
/** Sets of shares of the requests beyond a whole number of nines that get ticks: coarse first. */
const BEYOND = [[1], [1, 0.5], [1, 0.5, 0.25], Array.from({ length: 10 }, (_, i) => 1 - i / 10), Array.from({ length: 50 }, (_, i) => 1 - i / 50)];
/** Returns the ticks of percentiles: whole nines, and steps between if fewer than three are visible. */
export function percentiles(low, high, pixels = Infinity) {
  const ticks = (shares) => whole(Math.max(0, low - 1), high).flatMap((at) => shares.filter((share) => share > 0.1 || share === 1).map((share) => at - Math.log10(share)))
    .filter((at) => at >= low && at <= high);
  return spaced(BEYOND.map(ticks), (APART.x * (high - low)) / pixels, (at) => (Number.isInteger(at) ? 0 : 1));
}

/** Returns whether enough requests were measured for a percentile: at least one lies beyond it. */
export const known = (requests, percent) => requests.count * (1 - percent / 100) >= 1;

/** Returns the measured directions of all runs, each with its run and requests. */
function measured(state) {
  return state.runs.flatMap((run) => DIRECTIONS.filter(([key]) => run.record.time?.[key])
    .map(([key, name]) => ({ run, key, name, requests: run.record.time[key] })));
}

/** Returns the style of a line: a single run has a colour per direction; several have thick lines for reads. */
function lineOf(run, name, several) {
  const index = DIRECTIONS.findIndex(([, plural]) => plural === name);
  return several ? { index: run.index, thin: index > 0 } : { index };
}

function totals(state, several) {
  const rows = measured(state).map(({ run, name, requests }) => [
    el("span", { class: "run" }, swatch(lineOf(run, name, several)), el("span", {}, run.label)), name, count(requests.iops), rate(requests.bytes_per_second), micros(requests.mean_us),
    ...COLUMNS.map((percent) => micros(known(requests, percent) ? requests.percentiles_us[percent] ?? NaN : NaN)), micros(requests.max_us),
  ]);
  const number = (name) => ({ name, number: true });
  // Next to current rates, those of the whole run are labelled as such.
  const since = state.live ? ", mean since start" : "";
  return table("Latency of the runs", [{ name: "run" }, { name: "requests" }, number(`IOPS${since}`), number(`bandwidth${since}`), number(state.live ? "latency, mean since start" : "mean"),
    ...COLUMNS.map((percent) => number(`p${percent}`)), number("max")], rows);
}

/** The table and the percentile curves of all runs. */
export function latencyPanel(state) {
  const formatX = Object.assign(percentile, { axis: (at) => percentile(at) });
  const chart = new Chart({
    id: "latency-chart", title: "Latency by percentile", yLabel: "latency", format: latency, formatX, height: 300, ticksX: percentiles, ticksY: powers,
  });
  const rows = () => chart.rows().map(([name, at, value]) => [name, 100 * (1 - 10 ** -at), 10 ** value]);
  const body = el("div", {});
  const element = section("latency", "Latency",
    exporters("latency", () => chart.svg(), () => [["series", "percentile", "microseconds"], ...rows()]), body, chart.element);
  const update = () => {
    const all = measured(state);
    element.hidden = all.length === 0;
    if (element.hidden) return;
    // The intervals of the series start with the run; measurements start at the end of the ramp.
    const ramp = all.some(({ run: { record: { time } } }) => time.series?.seconds.at(-1) > 1.01 * time.seconds);
    const several = new Set(all.map(({ run }) => run)).size > 1;
    show(body, totals(state, several), ramp ? el("p", { class: "note" },
      "IOPS, bandwidth and latency leave out the ramp of the jobs (ramp_time). Host and media bytes, and axes of time, include it.") : null);
    chart.set(all.filter(({ run }) => run.shown).map(({ run, name, requests }) => {
      const points = Object.entries(requests.percentiles_us).filter(([percent, us]) => us > 0 && known(requests, percent))
        .map(([percent, us]) => [nines(Number(percent)), us]).sort((a, b) => a[0] - b[0]);
      return {
        ...lineOf(run, name, several), label: several ? `${run.label}, ${name}` : name,
        x: Float64Array.from(points, ([at]) => at), y: Float64Array.from(points, ([, us]) => Math.log10(us)),
      };
    }), "percentile");
  };
  return { element, update, chart };
}

/** Mean and 99th percentile of the selected run over model time. */
export function latencyOverTimePanel(state) {
  const chart = new Chart({
    id: "latency-time-chart", title: "Latency over time", yLabel: "latency", format: latency, formatX: seconds, height: 240, ticksY: powers,
  });
  const rows = () => chart.rows().map(([name, at, value]) => [name, at, 10 ** value]);
  const element = section("latency-time", "Latency over time",
    exporters("latency-time", () => chart.svg(), () => [["series", "seconds", "microseconds"], ...rows()]), chart.element);
  const update = () => {
    const series = state.runs[state.selected]?.record.time?.series;
    element.hidden = !series || series.seconds.length < 2;
    if (element.hidden) return;
    const x = Float64Array.from(series.seconds);
    const lines = DIRECTIONS.flatMap(([key, name], i) => [["mean_us", "mean", 0], ["p99_us", "p99", 2]]
      .map(([field, what, shift]) => ({ label: `${name}, ${what}`, index: i + shift, x, y: column(series[key]?.[field]).map(Math.log10) })))
      .filter((line) => line.y.some(Number.isFinite));
    chart.set(lines, "model time (s)");
  };
  return { element, update, chart };
}
