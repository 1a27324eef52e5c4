// Bytes per second of hosts and media, where there is time.

import { section } from "./dom.js";
import { rate, seconds, tick } from "./format.js";
import { column } from "./run.js";
import { Chart } from "./chart.js";
import { exporters } from "./exporting.js";

const show = Object.assign((value) => (Number.isFinite(value) ? rate(value) : "–"), { axis: (value) => tick(rate(value)) });

export function bandwidthPanel(state) {
  const chart = new Chart({ id: "bandwidth-chart", title: "Bandwidth", yLabel: "per second", format: show, formatX: seconds, least: 0, span: 1000, height: state.live ? 215 : 220 });
  const element = section("bandwidth", "Bandwidth",
    exporters("bandwidth", () => chart.svg(), () => [["series", "seconds", "bytes per second"], ...chart.rows()]), chart.element);
  const update = () => {
    const run = state.runs[state.selected];
    element.hidden = !run?.seconds || run.seconds.length === 0;
    if (element.hidden) return;
    const x = run.seconds;
    chart.set([
      { label: "host writes", index: 0, x, y: column(run.metrics.host_bytes_per_second) },
      { label: "media writes", index: 1, x, y: column(run.metrics.media_bytes_per_second) },
    ], "time (s)");
  };
  return { element, update, chart };
}
