// A sweep at a glance: maps of WAF over two of the settings in which its runs differ, one for each value of a third.
// A cell opens its run.

import { el, scrolled, section, show } from "./dom.js";
import { tidy, waf } from "./format.js";
import { css, share, textOn } from "./colours.js";
import { MANY, byValue } from "./run.js";
import { exporters } from "./exporting.js";
import { scale } from "./units_panel.js";

/** Maximum number of values of a setting that fit on a screen. */
const MOST_VALUES = 60;

/** Maximum number of maps that can be compared at a glance. */
const MOST_MAPS = 12;

/** Returns differing settings with their sorted values; those with the most values first, and the seed last. */
export function axesOf(configuration) {
  return configuration.filter((row) => row.differs)
    .map((row) => ({ ...row, distinct: [...new Set(row.values)].sort(byValue) }))
    .filter((row) => row.distinct.length <= MOST_VALUES)
    .sort((a, b) => (a.key === "seed") - (b.key === "seed") || b.distinct.length - a.distinct.length || byValue(a.key, b.key));
}

/** Returns the runs of each cell: rows by the values of `y` (null: one row), columns by those of `x`. */
export function cells(runs, x, y) {
  const grid = (y ? y.distinct : [""]).map(() => x.distinct.map(() => []));
  runs.forEach((i) => grid[y ? y.distinct.indexOf(y.values[i]) : 0][x.distinct.indexOf(x.values[i])].push(i));
  return grid;
}

/** Returns the runs of each map: one map for each value of `z` (null: one map of all). */
export function maps(runs, z) {
  return z ? z.distinct.map((value) => runs.filter((i) => z.values[i] === value)) : [runs];
}

export function sweepPanel(state) {
  const chosen = { x: null, y: null, z: null };
  const choices = el("p", { class: "choices" });
  const body = el("div", {});
  let rows = [];
  let axes = [];
  let runs = null;
  // Buttons, each with the runs of its cell.
  let buttons = [];
  const pick = (name, label, options) => el("label", {}, `${label} `, el("select", {
    id: `sweep-${name}`, onchange: (event) => { chosen[name] = event.target.value; draw(); },
  }, options.map((key) => el("option", { value: key, selected: key === chosen[name] }, key || "–"))), " ");
  const element = section("sweep", "WAF over the settings", exporters("sweep", null, () => rows), choices, body);
  const of = (i) => state.runs[i].record.summary;
  const axis = (key) => axes.find((row) => row.key === key) ?? null;
  const cell = (found, least, most) => {
    const known = found.filter((i) => of(i).host_bytes > 0);
    if (known.length === 0) return el("td", {}, "–");
    const best = known.reduce((a, i) => (of(i).waf < of(a).waf ? i : a));
    const back = share((of(best).waf - least) / Math.max(1e-9, most - least));
    const node = el("button", {
      type: "button", class: "cell", title: `${runs[best].label}${known.length > 1 ? `: the lowest of ${known.length} runs` : ""}`,
      onclick: () => state.set("selected", best),
    }, waf(of(best).waf));
    buttons.push([node, known]);
    node.style.backgroundColor = css(back);
    node.style.color = textOn(back);
    return el("td", { class: "number" }, node);
  };
  const map = (grid, x, y, title, least, most) => el("table", { class: "matrix" },
    el("caption", { class: title ? "title" : "hidden" }, title ?? `WAF by ${x.key}${y ? ` and ${y.key}` : ""}`),
    el("thead", {},
      el("tr", {}, el("th", { scope: "col", rowspan: 2 }, y?.key ?? ""), el("th", { scope: "colgroup", colspan: x.distinct.length }, x.key)),
      el("tr", {}, x.distinct.map((value) => el("th", { scope: "col" }, tidy(value))))),
    el("tbody", {}, grid.map((row, r) => el("tr", {}, el("th", { scope: "row" }, y ? tidy(y.distinct[r]) : "WAF"), row.map((found) => cell(found, least, most))))));
  function update() {
    if (runs !== state.runs) {
      runs = state.runs;
      axes = runs.length > MANY ? axesOf(state.configuration) : [];
      [chosen.x, chosen.y] = [axes[0]?.key ?? null, axes[1]?.key ?? ""];
      const keys = axes.map(({ key }) => key);
      const few = axes.filter(({ distinct }) => distinct.length <= MOST_MAPS).map(({ key }) => key);
      chosen.z = keys.slice(2).find((key) => key !== "seed" && few.includes(key)) ?? "";
      show(choices, pick("x", "Columns", keys), pick("y", "Rows", ["", ...keys]), pick("z", "A map for each", ["", ...few]));
      element.hidden = axes.length === 0;
      if (!element.hidden) draw();
    } else {
      press();
    }
  }
  const press = () => buttons.forEach(([node, known]) => node.setAttribute("aria-pressed", String(known.includes(state.selected))));
  function draw() {
    buttons = [];
    const [x, y, z] = [axis(chosen.x), axis(chosen.y), axis(chosen.z)];
    const grids = maps(runs.map((_, i) => i), z).map((found) => cells(found, x, y));
    const all = runs.map((_, i) => of(i)).filter(({ host_bytes: host }) => host > 0).map((summary) => summary.waf);
    const [least, most] = all.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, 1]);
    const wafs = (row) => row.map((found) => found.map((i) => of(i).waf).join(" "));
    const third = (m) => (z ? [z.distinct[m]] : []);
    rows = [[...(z ? [z.key] : []), `${y?.key ?? ""} \\ ${x.key}`, ...x.distinct],
      ...grids.flatMap((grid, m) => grid.map((row, r) => [...third(m), y?.distinct[r] ?? "WAF", ...wafs(row)]))];
    const title = (m) => (z ? `${z.key} = ${tidy(z.distinct[m])}` : null);
    show(body, el("p", { class: "note" }, "A cell opens its run. Where several runs share a cell, it shows the lowest WAF. ",
      ...(all.length ? [`WAF ${waf(least)} `, scale(), ` ${waf(most)}.`] : [])),
      el("div", { class: z ? "maps" : "" }, grids.map((grid, m) => scrolled(title(m) ?? "WAF over the settings", map(grid, x, y, title(m), least, most)))));
    press();
  }
  return { element, update };
}
