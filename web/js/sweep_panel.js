// A sweep at a glance: WAF over two of the settings in which its runs differ. A cell opens its run.

import { el, scrolled, section, show } from "./dom.js";
import { tidy, waf } from "./format.js";
import { css, share, textOn } from "./colours.js";
import { MANY, byValue } from "./run.js";
import { exporters } from "./exporting.js";

/** A setting with more values has no place on a screen. */
const MOST_VALUES = 60;

/** Settings that differ, with their values in order; those with most values first. */
export function axesOf(configuration) {
  return configuration.filter((row) => row.differs)
    .map((row) => ({ ...row, distinct: [...new Set(row.values)].sort(byValue) }))
    .filter((row) => row.distinct.length <= MOST_VALUES)
    .sort((a, b) => b.distinct.length - a.distinct.length || byValue(a.key, b.key));
}

/** The runs of each cell: rows by the values of `y` (null: one row), columns by those of `x`. */
export function cells(runs, x, y) {
  const grid = (y ? y.distinct : [""]).map(() => x.distinct.map(() => []));
  runs.forEach((run, i) => grid[y ? y.distinct.indexOf(y.values[i]) : 0][x.distinct.indexOf(x.values[i])].push(i));
  return grid;
}

export function sweepPanel(state) {
  const chosen = { x: null, y: null };
  const choices = el("p", { class: "choices" });
  const body = el("div", {});
  let rows = [];
  let axes = [];
  let runs = null;
  const pick = (name, label, options) => el("label", {}, `${label} `, el("select", {
    id: `sweep-${name}`, onchange: (event) => { chosen[name] = event.target.value; update(); },
  }, options.map((key) => el("option", { value: key, selected: key === chosen[name] }, key || "–"))), " ");
  const element = section("sweep", "WAF over the settings", exporters("sweep", null, () => rows), choices, body);
  const of = (i) => state.runs[i].record.summary;
  function update() {
    if (runs !== state.runs) {
      runs = state.runs;
      axes = runs.length > MANY ? axesOf(state.configuration) : [];
      chosen.x = axes[0]?.key ?? null;
      chosen.y = axes[1]?.key ?? "";
      const keys = axes.map(({ key }) => key);
      show(choices, pick("x", "Columns", keys), pick("y", "Rows", ["", ...keys]));
    }
    element.hidden = axes.length === 0;
    if (element.hidden) return;
    const axis = (key) => axes.find((row) => row.key === key) ?? null;
    const [x, y] = [axis(chosen.x), axis(chosen.y)];
    const grid = cells(runs, x, y);
    const written = runs.map((_, i) => i).filter((i) => of(i).host_bytes > 0);
    const most = written.reduce((a, i) => Math.max(a, of(i).waf), 1);
    const cell = (found) => {
      const known = found.filter((i) => of(i).host_bytes > 0);
      if (known.length === 0) return el("td", {}, "–");
      const best = known.reduce((a, i) => (of(i).waf < of(a).waf ? i : a));
      const back = share((of(best).waf - 1) / Math.max(1e-9, most - 1));
      const node = el("button", {
        type: "button", class: "cell", title: `${runs[best].label}${known.length > 1 ? `: the lowest of ${known.length} runs` : ""}`,
        "aria-pressed": String(known.includes(state.selected)), onclick: () => state.set("selected", best),
      }, waf(of(best).waf));
      node.style.backgroundColor = css(back);
      node.style.color = textOn(back);
      return el("td", { class: "number" }, node);
    };
    rows = [[`${y?.key ?? ""} \\ ${x.key}`, ...x.distinct],
      ...grid.map((row, r) => [y?.distinct[r] ?? "WAF", ...row.map((found) => found.map((i) => of(i).waf).join(" "))])];
    show(body, el("p", { class: "note" }, "A cell opens its run. Where several runs share a cell, it shows the lowest WAF."),
      scrolled("WAF over the settings", el("table", { class: "matrix" },
      el("caption", { class: "hidden" }, `WAF by ${x.key}${y ? ` and ${y.key}` : ""}`),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, y?.key ?? x.key), x.distinct.map((value) => el("th", { scope: "col", class: "number" }, tidy(value))))),
      el("tbody", {}, grid.map((row, r) => el("tr", {}, el("th", { scope: "row" }, y ? tidy(y.distinct[r]) : "WAF"), row.map(cell)))))));
  }
  return { element, update };
}
