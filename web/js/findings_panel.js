// The findings of the selected run, and those of the comparison of the runs.

import { el, section, show } from "./dom.js";

export function findingsPanel(state) {
  const body = el("div", {});
  const list = (found) => el("ul", { class: "findings" }, found.map(({ title, text }) => el("li", {}, el("strong", {}, title), text ? ` ${text}` : "")));
  const update = () => {
    const run = state.runs[state.selected];
    show(body, run ? list(run.findings) : null, state.comparison.length ? list(state.comparison) : null);
  };
  return { element: section("findings", "Where the WAF comes from", [], body), update };
}
