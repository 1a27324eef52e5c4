// Configurations side by side, with differences marked.

import { el, parts, section, show, table } from "./dom.js";
import { exporters } from "./exporting.js";

/** Maximum number of runs with a column each; more columns would be too narrow to read, even in print. */
const MOST_COLUMNS = 6;

/** Lists distinct values as text, at most ten of them. */
function several(values) {
  const all = [...new Set(values)];
  return all.length > 10 ? `${all.slice(0, 9).join(", ")} and ${all.length - 9} more` : all.join(", ");
}

/** Returns each workload text once, with the runs that have it. */
function workloads(runs) {
  const labels = new Map();
  for (const run of runs) {
    const text = run.record.provenance.workload?.text;
    if (text) labels.set(text, [...(labels.get(text) ?? []), run.label]);
  }
  return [...labels].map(([text, of]) => [text, of.length === runs.length && of.length > 1 ? "all runs" : of.join(", ")]);
}

export function configurationPanel(state) {
  const body = el("div", {});
  const only = el("input", { type: "checkbox", id: "only-differences", onchange: () => update() });
  const toggle = el("label", {}, only, " Only differences");
  const csv = () => [["key", ...state.runs.map((run) => run.label)], ...state.configuration.map((row) => [row.key, ...row.values])];
  const element = section("configuration", "Configuration", [toggle, ...exporters("configuration", null, csv)], body);
  let drawn = "";
  function update(key) {
    // During a run nothing changes here, and a workload that the reader opened stays open.
    const now = JSON.stringify(state.configuration);
    if (key === "sentences" && now === drawn) return;
    drawn = now;
    toggle.hidden = state.runs.length < 2;
    // With many runs, only the selected one has a column; differing keys list their values.
    const many = state.runs.length > MOST_COLUMNS;
    const runs = many ? [state.runs[state.selected]] : state.runs;
    const cells = (row) => (many ? [row.values[state.selected], row.differs ? several(row.values) : "the same"] : row.values);
    // The times of a device do not affect runs without a clock.
    const timed = state.runs.some((run) => run.record.time);
    const rows = state.configuration
      .filter((row) => row.differs || !(only.checked || (!timed && row.key.startsWith("timing."))))
      .map((row) => ({ class: row.differs ? "differs" : null, cells: [row.key, ...cells(row).map(parts)] }));
    const texts = workloads(runs).map(([text, labels]) =>
      el("details", {}, el("summary", {}, `Workload of ${labels}`), el("pre", { tabindex: "0" }, text)));
    show(body, table("Configuration", [{ name: "key" }, ...runs.map((run) => ({ name: run.label })), ...(many ? [{ name: "in all runs" }] : [])], rows), texts);
  }
  return { element, update };
}
