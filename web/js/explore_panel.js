// The line at the top of the page: progress of the run, and its WAF.

import { el, section, show } from "./dom.js";
import { bytes, count, times, waf } from "./format.js";
import { last } from "./run.js";

const STATES = { checking: "Checking the settings", running: "Running", preparing: "Writing the precondition", paused: "Paused", done: "Done", refused: "Settings refused", broken: "Stopped by a defect", idle: "Ready" };

/** `source` has the run, its state, and the result of checking its settings. */
export function progressPanel(source) {
  const body = el("dl", { class: "now" });
  const entry = (name, value, id, kind) => el("div", { class: kind }, el("dt", {}, name), el("dd", { id }, value));
  const bar = el("progress", { id: "progress", max: 1, value: 0, "aria-label": "Share of the volume written" });
  const update = () => {
    const { run, state, checked } = source;
    const summary = run?.record.summary;
    const host = summary?.host_bytes ?? 0;
    const [before, now] = [run?.ratios.instantaneous.at(-1), run?.ratios.cumulative.at(-1)];
    bar.value = checked?.volume_bytes ? Math.min(1, host / checked.volume_bytes) : 0;
    const pages = run?.record.performance?.host_pages_per_second;
    show(body,
      entry("State", STATES[state] ?? state, "now-state", `state ${["broken", "refused"].includes(state) ? "down" : "up"}`),
      entry("WAF", waf(now ?? NaN), "now-waf", "main"),
      entry("WAF of the last interval", waf(before ?? NaN), "now-last", "main"),
      entry("Host written", run?.logical ? `${times(host / run.logical)}, ${bytes(host)}` : "–", "now-host"),
      entry("Media written", bytes(summary?.media_bytes ?? 0), "now-media"),
      entry("RUs collected", count((summary?.forced_gc ?? 0) + (summary?.background_gc ?? 0)), "now-collected"),
      entry("Handles written", count(run ? run.handles.filter((h) => h.key !== "gc" && last(h.host) > 0).length : 0), "now-handles"),
      entry("Simulated host pages per second", pages ? count(pages) : "–", "now-speed"));
  };
  return { element: section("now", "Now", [], body, bar), update };
}
