// Findings about the selected run, and about differences between the runs.

import { el, section, show } from "./dom.js";

export function findingsPanel(state) {
  const body = el("div", {});
  // Keys and values are in backticks; a number and its percent sign stay together.
  const words = (text) => text.replaceAll(" %", "\u00a0%").split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
  const list = (found) => el("ul", { class: "findings" }, found.map(({ title, text }) => el("li", {}, el("strong", {}, words(title)), " ", words(text))));
  const update = () => {
    const run = state.runs[state.selected];
    show(body, run ? list(run.findings) : null, state.comparison.length ? list(state.comparison) : null);
  };
  return { element: section("findings", "Where the WAF comes from", [], body), update };
}
