// What the user chose, shared by the panels.

import { DEFAULT_LIMIT } from "./metrics.js";

/** A new state; panels hear of every change. */
export function makeState() {
  const hearers = [];
  return {
    runs: [],
    metric: "cumulative",
    limit: DEFAULT_LIMIT,
    axis: "volume",
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
    /** Samples per interval: 1, or a share of the run. */
    every(run) {
      return this.interval > 0 ? Math.max(1, Math.round(run.host.length * this.interval)) : 1;
    },
  };
}
