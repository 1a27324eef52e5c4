// The controls of the page, and the experiment keys that they set.

const SIZES = ["1MiB", "2MiB", "4MiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB", "256MiB", "512MiB", "1GiB"];
const CAPACITIES = ["1GiB", "2GiB", "4GiB", "8GiB", "16GiB", "28GiB", "64GiB", "128GiB", "224GiB", "448GiB"];
const PAGES = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB"];

const percent = (value) => `${Number((100 * value).toFixed(1))}\u00a0%`;
const same = (value) => String(value);
const named = (values) => values.map((value) => [value, value]);

/** Destinations of relocated data: the values of `gc.destination`. */
const DESTINATIONS = [["", "The policy's choice"], ["isolation", "By isolation"], ["host", "With the host's data"], ["shared", "One for all"],
  ["handle", "One per handle"], ["generation", "By generation"], ["writer", "With the writer (WARP)"]];

/** Separations without hints: the values of `gc.separation`. */
const SEPARATIONS = [["", "The policy's choice"], ["sepbit", "SepBIT"], ["dac", "DAC"], ["midas", "MiDAS"], ["multilog", "Multi-log"], ["deathtime", "Death time"]];

/**
 * Controls of the device. `kind` is select, range or check. A select's `choices` are [value, label]; an empty value
 * leaves the key out. A range has `low`, `high`, `step` and shows its value by `show`.
 */
export const DEVICE = [
  { key: "capacity", label: "Capacity", kind: "select", choices: named(CAPACITIES) },
  { key: "overprovisioning", label: "Over-provisioning", kind: "range", low: 0.02, high: 0.5, step: 0.01, show: percent },
  { key: "reclaim_unit.size", label: "Reclaim unit", kind: "select", choices: named(SIZES) },
  { key: "page", label: "Page", kind: "select", choices: named(PAGES) },
  { key: "handles", label: "Handles", kind: "range", low: 1, high: 16, step: 1, show: same },
  { key: "isolation", label: "Isolation", kind: "select", choices: [["initially", "Initially (II)"], ["persistently", "Persistently (PI)"]] },
  { key: "fdp", label: "FDP enabled", kind: "check" },
];

/** Controls of garbage collection; the policies are those of the module. */
export const COLLECTION = [
  { key: "gc.policy", label: "Policy", kind: "select", choices: [] },
  { key: "gc.destination", label: "Destination", kind: "select", choices: DESTINATIONS },
  { key: "gc.separation", label: "Separation", kind: "select", choices: SEPARATIONS },
  { key: "gc.background_free", label: "Background GC, free below", kind: "range", low: 0, high: 0.3, step: 0.01, show: percent },
  { key: "gc.background_max_valid", label: "Background GC, valid up to", kind: "range", low: 0, high: 1, step: 0.05, show: percent },
  { key: "gc.forced_free", label: "Forced GC, free below", kind: "range", low: 0, high: 0.1, step: 0.005, show: percent },
];

/** Columns of the table of streams. */
export const PATTERNS = [["sequential", "Sequential"], ["uniform", "Uniform"], ["zipf", "Zipf"], ["hot", "Hot fifth"]];
export const BLOCKS = ["4k", "8k", "16k", "64k", "128k", "1m"];
/** Initial skew of a pattern. */
export const SKEWS = { sequential: 0, uniform: 0, zipf: 1.2, hot: 80 };

/** Returns the value at a dotted key of a configuration. */
export function at(config, key) {
  return key.split(".").reduce((value, part) => value?.[part], config);
}
