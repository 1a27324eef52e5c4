// Configurations beside each other, what differs marked.

import { el, section, show, table } from "./dom.js";
import { configuration } from "./run.js";
import { exporters } from "./exporting.js";

export function configurationPanel(state) {
  const body = el("div", {});
  const only = el("input", { type: "checkbox", id: "only-differences", onchange: () => update() });
  const toggle = el("label", {}, only, " Only differences");
  const csv = () => [["key", ...state.runs.map((run) => run.label)], ...configuration(state.runs).map((row) => [row.key, ...row.values])];
  const element = section("configuration", "Configuration", [toggle, ...exporters("configuration", null, csv)], body);
  function update() {
    toggle.hidden = state.runs.length < 2;
    const rows = configuration(state.runs)
      .filter((row) => row.differs || !only.checked)
      .map((row) => ({ class: row.differs ? "differs" : null, cells: [row.key, ...row.values] }));
    const texts = state.runs.filter((run) => run.record.provenance.workload?.text).map((run) =>
      el("details", {}, el("summary", {}, `Workload of ${run.label}`), el("pre", { tabindex: "0" }, run.record.provenance.workload.text)));
    show(body, table("Configuration", [{ name: "key" }, ...state.runs.map((run) => ({ name: run.label }))], rows), texts);
  }
  return { element, update };
}
