// Bandwidth of records that have time: of hosts and media, or of each direction of a run with a clock.

import { section } from "./dom.js";
import { rate, seconds, tick } from "./format.js";
import { column, DIRECTIONS } from "./run.js";
import { Chart } from "./chart.js";
import { exporters } from "./exporting.js";

const show = Object.assign((value) => (Number.isFinite(value) ? rate(value) : "–"), { axis: (value) => tick(rate(value)) });

/** The lines of a run, their times and the label of the time axis; none if it has no time. */
function linesOf(run) {
  const series = run?.record?.time?.series;
  if (run?.seconds?.length > 0) {
    const of = (label, index, values) => ({ label, index, x: run.seconds, y: column(values) });
    return { at: "time (s)", lines: [of("host writes", 0, run.metrics.host_bytes_per_second), of("media writes", 1, run.metrics.media_bytes_per_second)] };
  }
  if (!(series?.seconds.length > 1)) return null;
  const x = Float64Array.from(series.seconds);
  const lines = DIRECTIONS.map(([key, label], index) => ({ label, index, x, y: column(series[key]?.bytes_per_second) }));
  return { at: "model time (s)", lines: lines.filter((line) => line.y.some((rate) => rate > 0)) };
}

export function bandwidthPanel(state) {
  const chart = new Chart({ id: "bandwidth-chart", title: "Bandwidth", yLabel: "per second", format: show, formatX: seconds, least: 0, span: 1000, height: state.live ? 215 : 220 });
  const element = section("bandwidth", "Bandwidth",
    exporters("bandwidth", () => chart.svg(), () => [["series", "seconds", "bytes per second"], ...chart.rows()]), chart.element);
  const update = () => {
    const shown = linesOf(state.runs[state.selected]);
    element.hidden = !shown;
    if (shown) chart.set(shown.lines, shown.at);
  };
  return { element, update, chart };
}
