// The sentences of findings.js, for the selected run.

import { el, section, show } from "./dom.js";
import { comparison, findings } from "./findings.js";

export function findingsPanel(state) {
  const body = el("div", {});
  const list = (said) => el("ul", { class: "findings" }, said.map(({ strong, text }) => el("li", {}, el("strong", {}, strong), text)));
  const update = () => {
    const run = state.runs[state.selected];
    show(body, run ? list(findings(run)) : null, state.runs.length > 1 ? list(comparison(state.runs)) : null);
  };
  return { element: section("findings", "Where the WAF comes from", [], body), update };
}
