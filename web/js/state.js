// The user's choices, shared by the panels.

/** Limit of the clamped WAF, as in KIOXIA's performance brief on FDP (2025). */
const DEFAULT_LIMIT = 5;

/** Creates a state that notifies panels of every change; `live` is true on the page of a running drive. */
export function makeState(live, short) {
  const hearers = [];
  return {
    runs: [],
    /** Findings of the comparison of the runs. */
    comparison: [],
    /** Whether the records have fewer points than were recorded. */
    thinned: false,
    /** Configuration and workload of the runs beside each other. */
    configuration: [],
    metric: "cumulative",
    limit: DEFAULT_LIMIT,
    live,
    /** Whether two charts have to stand above each other on the first screen. */
    short,
    // On the live page all charts have the axis of the bandwidth.
    axis: live ? "time" : "volume",
    interval: 0,
    published: true,
    selected: 0,
    /** Calls `hear(key)` after each change. */
    changed(hear) {
      hearers.push(hear);
    },
    set(key, value) {
      this[key] = value;
      for (const hear of hearers) hear(key);
    },
  };
}
