// The runs: totals, WAF at round volumes, and which runs the chart shows.

import { el, section, show, table } from "./dom.js";
import { bytes, count, percent, times, waf } from "./format.js";
import { swatch } from "./chart.js";
import { exporters } from "./exporting.js";
import { showRun } from "./run.js";

function totals(state) {
  const rows = state.runs.map((run) => {
    const s = run.record.summary;
    const line = el("span", {});
    const paint = () => show(line, run.shown ? swatch({ index: run.index }) : null);
    paint();
    const mark = el("input", {
      type: "checkbox", checked: run.shown, "aria-label": `Show ${run.label} in the chart`,
      onchange: (event) => {
        showRun(state.runs, run, event.target.checked);
        event.target.checked = run.shown;
        paint();
        state.set("shown", run);
      },
    });
    const gc = (s.forced_gc ?? 0) + (s.background_gc ?? 0);
    return [
      el("label", { class: "run" }, mark, " ", line, " ", run.label),
      el("b", { class: "waf" }, waf(s.host_bytes > 0 ? s.waf : NaN)),
      bytes(s.host_bytes) + (run.logical ? ` (${times(s.host_bytes / run.logical)})` : ""),
      bytes(s.media_bytes),
      s.erased_bytes === undefined || s.erased_bytes === null ? "–" : bytes(s.erased_bytes),
      s.media_bytes > 0 ? percent(run.metrics.added_share) : "–",
      s.forced_gc === undefined ? "–" : count(gc),
    ];
  });
  return table("Totals of the runs", [
    { name: "run" }, { name: "WAF", number: true }, { name: "host (HBMW)", number: true, title: "Host bytes written" },
    { name: "media (MBMW)", number: true, title: "Media bytes written" }, { name: "erased (MBE)", number: true, title: "Media bytes erased" },
    { name: "not from hosts", number: true, title: "Share of the media bytes that GC and read-modify-write added" },
    { name: "RUs collected", number: true },
  ], rows);
}

function byVolume(state) {
  const runs = state.runs.filter((run) => run.metrics.volumes?.length);
  const volumes = [...new Set(runs.flatMap((run) => run.metrics.volumes.map((v) => v.volume)))].sort((a, b) => a - b);
  const rows = volumes.map((volume) => {
    const cells = runs.flatMap((run) => {
      const found = run.metrics.volumes.find((v) => v.volume === volume);
      const value = waf(found?.waf ?? NaN);
      if (!run.published.length) return [value];
      const off = found?.difference_percent;
      const difference = off === undefined ? "–" : `${off >= 0 ? "+" : "−"}${Math.abs(off).toFixed(1)} %`;
      return [value, waf(found?.published ?? NaN), difference];
    });
    return [times(volume), ...cells];
  });
  const columns = runs.flatMap((run) => [
    { name: runs.length > 1 ? run.label : "WAF", number: true },
    ...(run.published.length ? [{ name: "published", number: true }, { name: "difference", number: true }] : []),
  ]);
  return { columns: [{ name: "host writes" }, ...columns], rows };
}

/** Totals on top. */
export function summaryPanel(state) {
  const body = el("div", {});
  const update = () => show(body, totals(state));
  return { element: section("runs", "Runs", [], body), update };
}

/** Cumulative WAF at round volumes. */
export function volumesPanel(state) {
  const body = el("div", {});
  let rows = [];
  const element = section("volumes", "Cumulative WAF at round volumes", exporters("volumes", null, () => rows), body);
  const update = () => {
    const { columns, rows: cells } = byVolume(state);
    element.hidden = cells.length === 0;
    rows = [columns.map((c) => c.name), ...cells];
    const sources = [...new Set(state.runs.flatMap((run) => run.published.map((p) => p.source)))];
    show(body, table("Cumulative WAF at round volumes", columns, cells),
      sources.map((source) => el("p", { class: "note" }, `Published: ${source}`)));
  };
  return { element, update };
}
