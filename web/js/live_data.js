// The record of a running device: the record that the server sent, extended by each state after it.

/** Appends the columns of one point. */
const push = (to, from) => Object.keys(from).forEach((key) => Array.isArray(to[key]) && key !== "gc_only" && to[key].push(...from[key]));

/** Appends the point of a state to a record as `/api/v1/page` gives it; false where counters were reset. */
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
    // A handle that is written for the first time appears with the next record.
    for (const [key, series] of Object.entries(timeline.handles)) {
      series.host_bytes.push(state.handles[key].host_bytes);
      series.media_bytes.push(state.handles[key].media_bytes);
      append(metrics.handles[key], state.metrics.handles[key], points);
    }
  }
  // What stands beside the curves is of the same moment as they are.
  metrics.added_share = state.metrics.added_share;
  for (const [key, { waf, moved_bytes, moved_share }] of Object.entries(state.metrics.handles)) {
    if (metrics.handles[key]) Object.assign(metrics.handles[key], { waf, moved_bytes, moved_share });
  }
  if (state.findings) record.findings = state.findings;
  Object.assign(record.summary, state.counters, { waf: state.metrics.device.cumulative[0] ?? 1 });
  // What is over time comes with the next record.
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
