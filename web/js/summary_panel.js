// The runs: totals, WAF at round volumes, which are shown, and which one the panels below look into.

import { el, section, show, table } from "./dom.js";
import { bytes, count, percent, times, waf } from "./format.js";
import { last } from "./run.js";
import { lowerBound } from "./thin.js";
import { swatch } from "./chart.js";
import { exporters } from "./exporting.js";

const VOLUMES = [1, 2, 3, 5, 7, 10, 15, 20, 25, 30];

/** Media bytes when the host had written `host` bytes, linear between samples; NaN past the end. */
export function mediaAt(run, host) {
  const right = lowerBound(run.host, host);
  if (right >= run.host.length) return NaN;
  const [h0, m0] = right > 0 ? [run.host[right - 1], run.media[right - 1]] : [0, 0];
  const [h1, m1] = [run.host[right], run.media[right]];
  return h1 > h0 ? m0 + ((m1 - m0) * (host - h0)) / (h1 - h0) : m1;
}

/** Published WAF at `host` bytes, linear between points; NaN outside. */
export function publishedAt(published, host) {
  const right = lowerBound(published.host, host * (1 - 1e-12));
  if (right >= published.host.length) return NaN;
  if (Math.abs(published.host[right] - host) <= host * 1e-9) return published.waf[right];
  if (right === 0) return NaN;
  const [h0, w0, h1, w1] = [published.host[right - 1], published.waf[right - 1], published.host[right], published.waf[right]];
  return w0 + ((w1 - w0) * (host - h0)) / (h1 - h0);
}

function totals(state) {
  const rows = state.runs.map((run, i) => {
    const s = run.record.summary;
    const mark = el("input", {
      type: "checkbox", checked: run.shown, "aria-label": `Show ${run.label} in the chart`,
      onchange: (event) => { run.shown = event.target.checked; state.set("shown", i); },
    });
    const gc = (s.forced_gc ?? 0) + (s.background_gc ?? 0);
    return [
      el("label", { class: "run" }, mark, " ", swatch({ index: i }), " ", run.label),
      el("b", { class: "waf" }, waf(s.host_bytes > 0 ? s.media_bytes / s.host_bytes : NaN)),
      bytes(s.host_bytes) + (run.logical ? ` (${times(s.host_bytes / run.logical)})` : ""),
      bytes(s.media_bytes),
      s.erased_bytes === undefined || s.erased_bytes === null ? "–" : bytes(s.erased_bytes),
      s.media_bytes > 0 ? percent(Math.max(0, s.media_bytes - s.host_bytes) / s.media_bytes) : "–",
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
  const runs = state.runs.filter((run) => run.logical);
  const rows = VOLUMES.map((volume) => {
    const cells = runs.flatMap((run) => {
      const host = Math.round(volume * run.logical);
      const value = host <= last(run.host) * (1 + 1e-6) ? mediaAt(run, Math.min(host, last(run.host))) / host : NaN;
      const published = run.published.length ? publishedAt(run.published[0], host) : null;
      if (published === null) return [waf(value)];
      const off = (100 * (value - published)) / published;
      return [waf(value), waf(published), Number.isFinite(off) ? `${off >= 0 ? "+" : "−"}${Math.abs(off).toFixed(1)} %` : "–"];
    });
    return [times(volume), ...cells];
  });
  const columns = runs.flatMap((run) => [
    { name: runs.length > 1 ? run.label : "WAF", number: true },
    ...(run.published.length ? [{ name: "published", number: true }, { name: "difference", number: true }] : []),
  ]);
  return { columns: [{ name: "host writes" }, ...columns], rows: rows.filter((row) => row.slice(1).some((cell) => cell !== "–")) };
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
