// Converts a record for the panels: typed arrays, labels, and defaults for missing parts. Numbers derived from
// counters (WAF, findings, bandwidth) come with the record; nothing is computed here.

import { LAYOUT } from "./chart_layout.js";
import { MOST_SERIES } from "./colours.js";

/** Orders handles by number, with `gc` last. */
function byKey(a, b) {
  if (a === "gc" || b === "gc") return (a === "gc") - (b === "gc");
  return Number(a) - Number(b);
}

/** Directions of requests: key in a record, and plural. */
export const DIRECTIONS = [["read", "reads"], ["write", "writes"], ["trim", "trims"], ["flush", "flushes"]];

/** Gaps are null in a record and NaN in a chart. */
export const column = (values) => Float64Array.from(values ?? [], (v) => v ?? NaN);

/** Returns the WAF columns of a device or handle. */
function ratios(metrics) {
  return { cumulative: column(metrics?.cumulative), instantaneous: column(metrics?.instantaneous), gcOnly: metrics?.gc_only ?? [] };
}

/** Converts a run of the page: `{ label, unites_writes, record }`. */
export function toRun({ label, unites_writes: unitesWrites, record }) {
  const { timeline, metrics, provenance } = record;
  const geometry = provenance.geometry ?? null;
  const jobs = provenance.workload?.jobs ?? [];
  // Policies that keep handles apart move nothing into the shared RU.
  const written = ([key, { host_bytes: host }]) => key !== "gc" || host.at(-1) > 0;
  const handles = Object.entries(timeline.handles ?? {}).filter(written).map(([key]) => key).sort(byKey).map((key) => ({
    key,
    label: key === "gc" ? "gc" : `handle ${key}`,
    jobs: jobs.filter((job) => job.handles.includes(Number(key))).map((job) => job.name),
    host: Float64Array.from(timeline.handles[key].host_bytes),
    media: Float64Array.from(timeline.handles[key].media_bytes),
    ratios: ratios(metrics.handles[key]),
    totals: metrics.handles[key] ?? {},
  }));
  return {
    record,
    label,
    name: record.name,
    metrics,
    findings: record.findings,
    logical: geometry ? geometry.logical_pages * geometry.page_bytes : provenance.measured?.capacity_bytes ?? null,
    host: Float64Array.from(timeline.host_bytes),
    media: Float64Array.from(timeline.media_bytes),
    ratios: ratios(metrics.device),
    seconds: timeline.seconds?.length ? Float64Array.from(timeline.seconds) : null,
    handles,
    published: (record.published ?? []).map((p) => ({
      source: p.source ?? p.reference,
      host: Float64Array.from(p.host_bytes),
      waf: Float64Array.from(p.waf),
    })),
    unitesWrites,
    units: record.reclaim_units ?? null,
    attribution: record.attribution ?? null,
    shown: true,
    index: 0,
  };
}

/**
 * Shows or hides the curve of a run. A shown run gets the first free combination of colour and dash; if none is left,
 * it stays hidden.
 */
export function showRun(runs, run, on) {
  const taken = new Set(runs.filter((other) => other.shown && other !== run).map((other) => other.index));
  run.shown = on && taken.size < MOST_SERIES;
  if (!run.shown || !taken.has(run.index)) return;
  run.index = 0;
  while (taken.has(run.index)) run.index += 1;
}

/** Returns points and values of a metric: per sample, or per interval of a share of the run. */
export function series(run, key, metric, limit, share) {
  const part = key === null ? run : run.handles.find((h) => h.key === key);
  const interval = metric === "cumulative" ? null : run.metrics.intervals?.find((i) => i.share === share);
  const found = !interval ? part.ratios : ratios(key === null ? interval.device : interval.handles[key]);
  const points = interval ? interval.points : null;
  if (metric !== "clamped") return { points, values: found[metric] };
  // Only media were written: the ratio is infinite, so the limit applies.
  const values = found.instantaneous.map((value) => Math.min(value, limit));
  for (const point of found.gcOnly) values[point] = limit;
  return { points, values };
}

/** Names of what a drive writes in addition to host data, by key in a record. */
export const PARTS = {
  gc: "GC", maintenance: "maintenance", map: "the map", parity: "parity", slc_cache: "the SLC cache", read_modify_write: "read-modify-write",
};

/** Returns a handle's name in a sentence. */
export function named(key) {
  return key === "gc" ? "GC" : `handle ${key}`;
}

/** Returns the last value of a column, or 0 if it is empty. */
export function last(column) {
  return column.length ? column[column.length - 1] : 0;
}

/** Returns whether all runs lack host writes, and so a WAF; a live drive may still be written. */
export const onlyReads = ({ runs, live }) => !live && runs.length > 0 && runs.every((run) => last(run.host) === 0);

/** Returns whether time can be an axis: every run must have it. Volume always can. */
export function hasTime(runs) {
  return runs.length > 0 && runs.every((run) => run.seconds);
}

/** Returns the x axis: its label and the values of a run, in seconds, multiples of the logical capacity, or GB. */
export function axisOf(runs, axis) {
  const inVolumes = runs.every((run) => run.logical);
  if (axis === "time") return { label: "time (s)", of: (run) => run.seconds, at: null };
  if (inVolumes) {
    return {
      label: LAYOUT.host_writes.capacities,
      of: (run) => run.host.map((h) => h / run.logical),
      at: (run, host) => host / run.logical,
    };
  }
  return { label: LAYOUT.host_writes.gigabytes, of: (run) => run.host.map((h) => h / 1e9), at: (_, host) => host / 1e9 };
}

/** Returns every leaf of a configuration: [dotted key, value as text]. */
export function leaves(value, prefix) {
  if (value === null || typeof value !== "object") return [[prefix, value === null ? "–" : String(value)]];
  if (Array.isArray(value) && value.every((v) => v === null || typeof v !== "object")) {
    return [[prefix, value.join(", ")]];
  }
  return Object.keys(value).flatMap((key) => leaves(value[key], prefix ? `${prefix}.${key}` : key));
}

/** Orders settings and names: numbers by value, otherwise text with embedded numbers by value. */
export function byValue(a, b) {
  const [x, y] = [Number(a), Number(b)];
  return Number.isFinite(x) && Number.isFinite(y) ? x - y : String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Beyond this number of runs, a page shows them as a sweep: few curves at first, and a searchable table. */
export const MANY = 12;
/** Number of curves that a sweep shows at first. */
export const FIRST_CURVES = 8;

/** Returns the configuration and workload of the runs: a row per key, with a value per run and whether they differ. */
export function configuration(runs) {
  const of = (run) => {
    const p = run.record.provenance;
    const measured = p.measured ? { measured: p.measured } : {};
    const workload = { ...(p.workload ?? {}) };
    for (const key of ["text", "ignored", "jobs"]) delete workload[key];
    return new Map([
      ...leaves({ device: p.device ?? "–", ...(p.config ?? {}) }, ""),
      ...leaves({ workload, ...measured, seed: p.seed ?? null, version: p.version ?? null, git: p.git ?? null }, ""),
    ]);
  };
  const maps = runs.map(of);
  const all = [...new Set(maps.flatMap((map) => [...map.keys()]))];
  // A key that only a later run has is placed with its group.
  const group = (key) => key.split(".")[0];
  const keys = [...new Set(all.map(group))].flatMap((name) => all.filter((key) => group(key) === name));
  return keys.map((key) => {
    const values = maps.map((map) => map.get(key) ?? "–");
    return { key, values, differs: new Set(values).size > 1 };
  });
}
