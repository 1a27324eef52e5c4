// The record of a running device: the record from the server, extended by each later state.

/** Appends the columns of one point. */
const push = (to, from) => Object.keys(from).forEach((key) => Array.isArray(to[key]) && key !== "gc_only" && to[key].push(...from[key]));

/** Appends the point of a state to a record from `/api/v1/page`; returns false if counters were reset. */
export function addState(record, state) {
  const { timeline, metrics } = record;
  const points = timeline.seconds.length;
  if (points && state.counters.host_bytes < timeline.host_bytes[points - 1]) return false;
  // A state may arrive twice: with the record, and as the first of the stream.
  if (!points || state.seconds > timeline.seconds[points - 1]) {
    timeline.seconds.push(state.seconds);
    timeline.host_bytes.push(state.counters.host_bytes);
    timeline.media_bytes.push(state.counters.media_bytes);
    push(metrics, { host_bytes_per_second: state.metrics.host_bytes_per_second, media_bytes_per_second: state.metrics.media_bytes_per_second });
    append(metrics.device, state.metrics.device, points);
    // A handle written for the first time appears with the next record.
    for (const [key, series] of Object.entries(timeline.handles)) {
      series.host_bytes.push(state.handles[key].host_bytes);
      series.media_bytes.push(state.handles[key].media_bytes);
      append(metrics.handles[key], state.metrics.handles[key], points);
    }
  }
  // The values next to the curves are of the same moment.
  metrics.added_share = state.metrics.added_share;
  for (const [key, { waf, moved_bytes, moved_share }] of Object.entries(state.metrics.handles)) {
    if (metrics.handles[key]) Object.assign(metrics.handles[key], { waf, moved_bytes, moved_share });
  }
  if (state.findings) record.findings = state.findings;
  Object.assign(record.summary, state.counters, { waf: state.metrics.device.cumulative[0] ?? 1 });
  // Series over time come with the next record.
  if (state.time) record.time = { ...state.time, series: record.time?.series ?? state.time.series };
  if (state.wear) record.summary.wear = state.wear;
  record.live = state.live;
  if (state.reclaim_units) record.reclaim_units = state.reclaim_units;
  return true;
}

function append(to, from, points) {
  push(to, from);
  if (from.gc_only?.length) to.gc_only = [...(to.gc_only ?? []), points];
}
