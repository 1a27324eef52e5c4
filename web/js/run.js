// A result record as the panels use it: typed arrays, labels, and what may be missing.

/** Order of handles: by number, `gc` last. */
function byKey(a, b) {
  if (a === "gc" || b === "gc") return (a === "gc") - (b === "gc");
  return Number(a) - Number(b);
}

/** A record, or what a live drive sends in its form. */
export function toRun(record) {
  const timeline = record.timeline;
  const geometry = record.provenance.geometry ?? null;
  const handles = Object.keys(timeline.handles ?? {}).sort(byKey).map((key) => ({
    key,
    label: key === "gc" ? "gc" : `handle ${key}`,
    host: Float64Array.from(timeline.handles[key].host_bytes),
    media: Float64Array.from(timeline.handles[key].media_bytes),
  }));
  const seconds = timeline.seconds ?? null;
  return {
    record,
    name: record.name,
    label: record.name,
    logical: geometry ? geometry.logical_pages * geometry.page_bytes : record.provenance.measured?.capacity_bytes ?? null,
    host: Float64Array.from(timeline.host_bytes),
    media: Float64Array.from(timeline.media_bytes),
    seconds: Array.isArray(seconds) ? Float64Array.from(seconds) : null,
    handles,
    published: (record.published ?? []).map((p) => ({
      source: p.source ?? p.reference,
      host: Float64Array.from(p.host_bytes),
      waf: Float64Array.from(p.waf),
    })),
    units: record.reclaim_units ?? null,
    attribution: record.attribution ?? null,
    shown: true,
  };
}

/** Runs with labels that differ: the seed, then a number, are added where names are the same. */
export function toRuns(records) {
  const runs = records.map(toRun);
  const unique = () => new Set(runs.map((run) => run.label)).size === runs.length;
  if (!unique()) {
    for (const run of runs) run.label = `${run.name}, seed ${run.record.provenance.seed ?? "–"}`;
  }
  if (!unique()) runs.forEach((run, i) => { run.label = `${run.label} (${i + 1})`; });
  return runs;
}

/** The last of a column, 0 of an empty one. */
export function last(column) {
  return column.length ? column[column.length - 1] : 0;
}

/** What axes there are: volume always, time where every run has it. */
export function hasTime(runs) {
  return runs.length > 0 && runs.every((run) => run.seconds);
}

/** x of a run's samples on an axis: seconds, multiples of the logical capacity, or bytes. */
export function axisOf(runs, axis) {
  const inVolumes = runs.every((run) => run.logical);
  if (axis === "time") return { label: "time (s)", of: (run) => run.seconds, at: null };
  if (inVolumes) {
    return {
      label: "host writes (multiples of the logical capacity)",
      of: (run) => run.host.map((h) => h / run.logical),
      at: (run, host) => host / run.logical,
    };
  }
  return { label: "host writes (GB)", of: (run) => run.host.map((h) => h / 1e9), at: (_, host) => host / 1e9 };
}

/** Every leaf of a configuration, dotted: [key, value as text]. */
export function leaves(value, prefix) {
  if (value === null || typeof value !== "object") return [[prefix, value === null ? "–" : String(value)]];
  if (Array.isArray(value) && value.every((v) => v === null || typeof v !== "object")) {
    return [[prefix, value.join(", ")]];
  }
  return Object.keys(value).flatMap((key) => leaves(value[key], prefix ? `${prefix}.${key}` : key));
}

/** What was run, as rows of key and one value per run; `differs` where the values are not all equal. */
export function configuration(runs) {
  const of = (run) => {
    const p = run.record.provenance;
    const measured = p.measured ? { measured: p.measured } : {};
    const workload = { ...(p.workload ?? {}) };
    delete workload.text;
    delete workload.ignored;
    return new Map([
      ...leaves({ device: p.device ?? "–", ...(p.config ?? {}) }, ""),
      ...leaves({ workload, ...measured, seed: p.seed ?? null, version: p.version ?? null, git: p.git ?? null }, ""),
    ]);
  };
  const maps = runs.map(of);
  const keys = [...new Set(maps.flatMap((map) => [...map.keys()]))];
  return keys.map((key) => {
    const values = maps.map((map) => map.get(key) ?? "–");
    return { key, values, differs: new Set(values).size > 1 };
  });
}

/** Jobs of a fio file by the placement handle they name: Map of handle to names. */
export function jobsByHandle(text) {
  const jobs = new Map();
  let name = null;
  let all = {};
  let own = {};
  const close = () => {
    if (name === null || name === "global") {
      if (name === "global") all = { ...all, ...own };
      return;
    }
    const options = { ...all, ...own };
    if (!/write|rw/.test(options.rw ?? options.readwrite ?? "read")) return;
    const placed = options.fdp === "1" || options.fdp === "true" || options.dataplacement === "fdp";
    const plids = !placed ? "0" : String(options.plids ?? options.fdp_pli ?? "0").split(",")[0].trim();
    jobs.set(plids, [...(jobs.get(plids) ?? []), name]);
  };
  for (const line of String(text ?? "").split("\n")) {
    const heading = /^\s*\[(.*)\]/.exec(line);
    const option = /^\s*([\w-]+)\s*=\s*([^#;]*)/.exec(line);
    if (heading) {
      close();
      [, name] = heading;
      own = {};
    } else if (option) own[option[1]] = option[2].trim();
  }
  close();
  return jobs;
}
