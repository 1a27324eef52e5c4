// WAF over samples of counters: cumulative, instantaneous, clamped (KIOXIA's performance brief on FDP, 2025).
//
// The same rules as crates/wafer-lab/src/metrics.rs, held to web/test/metrics.json. NaN stands for "no
// value": nothing was written. Infinity stands for an interval in which only the media was written: it has
// no ratio, instantaneous shows a gap there and clamped shows the limit.

/** Limit of clamped WAF, as in the brief. */
export const DEFAULT_LIMIT = 5;

function ratio(host, media) {
  if (host > 0) return media / host;
  return media > 0 ? Infinity : NaN;
}

/** Media bytes over host bytes at each sample. */
export function cumulative(host, media) {
  return Float64Array.from(host, (h, i) => ratio(h, media[i]));
}

/** The same between each sample and the one before; before the first everything is zero. */
export function instantaneous(host, media) {
  return Float64Array.from(host, (h, i) =>
    ratio(Math.max(0, h - (i ? host[i - 1] : 0)), Math.max(0, media[i] - (i ? media[i - 1] : 0))));
}

/** Instantaneous WAF cut at a limit. */
export function clamped(host, media, limit) {
  return instantaneous(host, media).map((value) => Math.min(value, limit));
}

/** WAF by the name of the metric, gaps as NaN. */
export function metric(name, host, media, limit) {
  const values = name === "cumulative" ? cumulative(host, media)
    : name === "instantaneous" ? instantaneous(host, media)
    : clamped(host, media, limit);
  return values.map((value) => (Number.isFinite(value) ? value : NaN));
}

/** Indices of every `k`-th sample, counted so that the last is among them. */
export function everyKth(length, k) {
  const indices = [];
  for (let i = (length - 1) % k; i < length; i += k) indices.push(i);
  return indices;
}
