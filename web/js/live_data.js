// The record of a running drive: what the server sent first, and each state after it.

/** Points that a page keeps at most; then every other is dropped. */
const MOST_POINTS = 20000;

/** Adds a state to a record as `/api/v1/record` gives it. Counters that step back begin a new history. */
export function addState(record, state) {
  const { timeline } = record;
  const host = state.counters.host_bytes;
  const points = timeline.host_bytes.length;
  if (points && host < timeline.host_bytes[points - 1]) clear(timeline);
  const length = timeline.host_bytes.length;
  // A state may come twice: with the record, and as the first of the stream.
  if (!length || state.seconds > timeline.seconds[length - 1]) {
    timeline.seconds.push(state.seconds);
    timeline.host_bytes.push(host);
    timeline.media_bytes.push(state.counters.media_bytes);
    for (const [key, now] of Object.entries(state.handles)) {
      if (!timeline.handles[key]) {
        if (!now.media_bytes && key !== "gc") continue;
        const zeros = () => new Array(length).fill(0);
        timeline.handles[key] = { host_bytes: zeros(), media_bytes: zeros() };
      }
      timeline.handles[key].host_bytes.push(now.host_bytes);
      timeline.handles[key].media_bytes.push(now.media_bytes);
    }
    if (timeline.host_bytes.length > MOST_POINTS) halve(timeline);
  }
  const c = state.counters;
  Object.assign(record.summary, c, { waf: c.host_bytes > 0 ? c.media_bytes / c.host_bytes : 1 });
  record.live = state.live;
  if (state.reclaim_units) record.reclaim_units = state.reclaim_units;
  return record;
}

function columns(timeline) {
  return [timeline, ...Object.values(timeline.handles)].flatMap((table) =>
    ["seconds", "host_bytes", "media_bytes"].filter((name) => table[name]).map((name) => [table, name]));
}

function clear(timeline) {
  for (const [table, name] of columns(timeline)) table[name] = [];
}

function halve(timeline) {
  for (const [table, name] of columns(timeline)) {
    const { length } = table[name];
    table[name] = table[name].filter((_, i) => (length - 1 - i) % 2 === 0);
  }
}
