// What the numbers of a run say about the cause of its WAF, in sentences. Each follows from counters of the record.

import { bytes, percent, waf } from "./format.js";
import { configuration, jobsByHandle, last } from "./run.js";

/** Sentences about one run: [{ strong, text }]. */
export function findings(run) {
  const s = run.record.summary;
  const said = [];
  const say = (strong, text) => said.push({ strong, text });
  if (!(s.host_bytes > 0)) return [{ strong: "Nothing was written yet.", text: "" }];
  const value = s.media_bytes / s.host_bytes;
  const extra = Math.max(0, s.media_bytes - s.host_bytes);
  if (extra < 0.005 * s.host_bytes) {
    say(`WAF ${waf(value)}: almost nothing was moved.`, "RUs were empty, or nearly so, when they were erased.");
    return said;
  }
  say(`WAF ${waf(value)}: ${percent(extra / s.media_bytes)} of all media writes were not written by hosts.`,
    s.relocated_pages === undefined ? ` That is ${bytes(extra)}.`
      : ` GC moved ${bytes(extra)} that were still valid in the RUs it erased.`);
  victims(run, say);
  mixing(run, extra, say);
  matrix(run, say);
  rising(run, value, say);
  if (s.rmw_pages > 0.01 * (s.host_pages ?? Infinity)) {
    say(`${percent(s.rmw_pages / s.host_pages)} of the host's pages were written only in part.`,
      " Each cost a read-modify-write: block sizes below the page, or not aligned to it.");
  }
  return said;
}

function victims(run, say) {
  const s = run.record.summary;
  const collected = (s.forced_gc ?? 0) + (s.background_gc ?? 0);
  const pages = run.record.provenance.geometry?.pages_per_ru;
  if (!collected || !pages || s.relocated_pages === undefined) return;
  const valid = s.relocated_pages / (collected * pages);
  say(`An RU that was collected still held ${percent(valid)} valid pages.`,
    valid > 0.1
      ? " Data in one RU died at different times. GC costs nothing where all data of an RU dies together."
      : " Most data of an RU died together.");
}

function mixing(run, extra, say) {
  const { config, geometry } = run.record.provenance;
  const handles = run.handles.filter((h) => h.key !== "gc" && last(h.host) > 0);
  const moved = (h) => Math.max(0, last(h.media) - last(h.host));
  const jobs = jobsByHandle(run.record.provenance.workload?.text);
  const of = (key) => {
    const names = jobs.get(key) ?? [];
    return names.length ? ` (${names.slice(0, 6).join(", ")}${names.length > 6 ? ", …" : ""})` : "";
  };
  if (handles.length === 1 && geometry) {
    const sharing = [...jobs.values()].flat();
    const one = handles[0];
    const conventional = config?.fdp === false;
    const several = sharing.length > 1;
    say(conventional ? "FDP is off: all data shares one stream."
      : `All data went through handle ${one.key}${several ? `, shared by ${sharing.length} jobs` : ""}.`,
      several
        ? ` ${sharing.slice(0, 8).join(", ")} fill the same RUs. If their data lives for different times, a handle for each of them keeps it apart`
          + `${conventional ? " (fdp = true)" : `; the device has ${config?.handles ?? "more"}`}.`
        : " Pages that are overwritten often share RUs with pages that are not.");
  } else if (handles.length > 1) {
    const most = handles.reduce((a, b) => (moved(b) > moved(a) ? b : a));
    if (moved(most) > 0) {
      say(`${percent(moved(most) / extra)} of the moved data came out of RUs of handle ${most.key}${of(most.key)}.`,
        ` It has ${percent(last(most.host) / last(run.host))} of the host writes and a WAF of ${waf(last(most.media) / last(most.host))}.`);
    }
  }
  const gc = run.handles.find((h) => h.key === "gc");
  if (gc && last(gc.media) > last(gc.host) && moved(gc) > 0.1 * extra) {
    say(`${percent(moved(gc) / extra)} of the moved data was moved again out of the RUs that GC fills.`,
      handles.length > 1
        ? ` Initially isolated: relocated data of ${handles.length} handles mixes there. Persistent isolation keeps it apart.`
        : " It is data that lives long: what survives one collection often survives the next.");
  }
}

function matrix(run, say) {
  const a = run.attribution;
  if (!a || !Array.isArray(a.relocated_bytes)) return;
  let best = null;
  let all = 0;
  a.relocated_bytes.forEach((row, i) => row.forEach((value, j) => {
    all += value;
    if (i !== j && (!best || value > best.value)) best = { i, j, value };
  }));
  if (!best || best.value < 0.05 * all) return;
  say(`${percent(best.value / all)} of the moved data is data of ${named(a.handles[best.j])} that had to move because of ${named(a.handles[best.i])}.`, "");
}

/** A handle's name in a sentence. */
export function named(key) {
  return key === "gc" ? "GC" : `handle ${key}`;
}

function rising(run, value, say) {
  const n = run.host.length;
  if (n < 20) return;
  const from = Math.floor(n * 0.9);
  const host = run.host[n - 1] - run.host[from];
  if (!(host > 0)) return;
  const now = (run.media[n - 1] - run.media[from]) / host;
  if (now > value * 1.05) say(`The last tenth of the run had a WAF of ${waf(now)}.`, " The cumulative WAF is still rising towards it.");
}

/** What two or more runs say beside each other. */
export function comparison(runs) {
  const known = runs.filter((run) => run.record.summary.host_bytes > 0);
  if (known.length < 2) return [];
  const of = (run) => run.record.summary.media_bytes / run.record.summary.host_bytes;
  const best = known.reduce((a, b) => (of(b) < of(a) ? b : a));
  const worst = known.reduce((a, b) => (of(b) > of(a) ? b : a));
  if (of(worst) < 1.01 * of(best)) return [{ strong: "The runs have the same WAF within 1 %.", text: "" }];
  const keys = configuration([best, worst]).filter((row) => row.differs && !/^(git|version|workload\.path|seed)$/.test(row.key));
  const shown = keys.slice(0, 4).map(({ key, values }) => `${key} (${values[0]}, not ${values[1]})`);
  const jobs = JSON.stringify([...jobsByHandle(best.record.provenance.workload?.text)])
    !== JSON.stringify([...jobsByHandle(worst.record.provenance.workload?.text)]);
  if (jobs) shown.unshift("which jobs share a handle");
  return [{
    strong: `For each byte of the host ${best.label} writes ${percent(1 - of(best) / of(worst))} less to the media than ${worst.label} (WAF ${waf(of(best))} and ${waf(of(worst))}).`,
    text: shown.length ? ` They differ in ${shown.join("; ")}${keys.length > 4 ? "; more in the table below" : ""}.` : "",
  }];
}
