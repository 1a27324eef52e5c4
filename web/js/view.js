// The page: panels that share one state. The report and the live page differ in the source of the runs.

import { charts } from "./chart.js";
import { MOST_SERIES, setPrinting } from "./colours.js";
import { button, el, show } from "./dom.js";
import { FIRST_CURVES, MANY, configuration, toRun } from "./run.js";
import { makeState } from "./state.js";
import { bandwidthPanel } from "./bandwidth_panel.js";
import { configurationPanel } from "./configuration_panel.js";
import { diesPanel } from "./dies_panel.js";
import { findingsPanel } from "./findings_panel.js";
import { handlesPanel } from "./handles_panel.js";
import { latencyOverTimePanel, latencyPanel } from "./latency_panel.js";
import { matrixPanel } from "./matrix_panel.js";
import { summaryPanel, volumesPanel } from "./summary_panel.js";
import { sweepPanel } from "./sweep_panel.js";
import { unitsPanel } from "./units_panel.js";
import { controls, wafPanel } from "./waf_panel.js";

/**
 * The panels in order: name, constructor, and the state changes that update them. A panel is
 * `{ element, update(key) }`, made from the state. To add a chart, write its panel in a new file, import it above and
 * add a line here; its data must be in the record.
 */
const PANELS = [
  ["sweep", sweepPanel, ["selected"]],
  ["summary", summaryPanel, ["live"]],
  ["findings", findingsPanel, ["selected", "sentences", "live"]],
  ["waf", wafPanel, ["metric", "limit", "axis", "interval", "published", "shown", "live"]],
  ["bandwidth", bandwidthPanel, ["selected", "live"]],
  ["latency", latencyPanel, ["shown", "live"]],
  ["latencyOverTime", latencyOverTimePanel, ["selected", "live"]],
  ["dies", diesPanel, ["selected", "live"]],
  ["handles", handlesPanel, ["metric", "limit", "axis", "interval", "selected", "live"]],
  ["matrix", matrixPanel, ["selected", "live"]],
  ["units", unitsPanel, ["selected", "live"]],
  ["volumes", volumesPanel, ["sentences", "shown"]],
  ["configuration", configurationPanel, ["selected", "sentences"]],
];
/** Panels of the selected run, whose headings name it if there are several. */
const ONE = ["findings", "bandwidth", "latencyOverTime", "handles", "matrix", "units"];
/** Changes that update only some panels; any other change updates all of them. */
const KEYS = new Set(["metric", "limit", "axis", "interval", "published", "shown", "selected", "live", "sentences"]);

/** The two columns of the live page's first screen. Its single run needs no summary. */
const FIRST = [["waf", "bandwidth"], ["units", "findings"]];
/** Panels of the live page that follow, before connections and events. */
const THEN = ["handles", "matrix", "latency", "latencyOverTime", "dies"];

/**
 * Builds the page in `root`. `live` has the panels of the live page only: `first` above the controls, `later` below
 * the charts. Its `columns` replace those of a drive's live page.
 */
export function makeView(root, title, subtitle, tools, live) {
  const state = makeState(Boolean(live), Boolean(live?.columns));
  const bar = controls(state);
  const select = el("select", { id: "selected", onchange: (event) => state.set("selected", Number(event.target.value)) });
  const chooser = el("p", { class: "chooser" }, el("label", {}, "Look into run ", select));
  const panels = Object.fromEntries(PANELS.map(([name, make]) => [name, make(state)]));
  const top = el("header", {},
    el("div", {}, el("h1", {}, title), subtitle),
    el("div", { class: "tools" }, tools, themeButton(() => state.set("theme"))));
  const of = (names) => names.map((name) => panels[name].element);
  const elements = (list) => list.map((panel) => panel.element);
  const names = PANELS.map(([name]) => name);
  const extra = live ? [...live.first, ...live.later] : [];
  root.classList.toggle("live", state.live);
  if (live) {
    const first = live.columns ?? FIRST;
    const then = THEN.filter((name) => !first.flat().includes(name));
    const last = names.filter((name) => !["summary", "sweep", ...first.flat(), ...then].includes(name));
    const columns = el("div", { class: "columns" }, first.map((column) => el("div", {}, of(column))));
    show(root, top, elements(live.first), bar.element, columns, of(then), elements(live.later), of(last));
  } else {
    show(root, top, of(["sweep", "summary"]), chooser, of(["findings"]), bar.element, of(names.slice(3)));
  }

  const update = (key) => {
    bar.update();
    chooser.hidden = state.runs.length < 2;
    select.value = String(state.selected);
    for (const [name, , keys] of PANELS) if (!KEYS.has(key) || keys.includes(key)) panels[name].update(key);
    for (const name of ONE) named(panels[name].element.querySelector("h2"), state);
    for (const panel of extra) panel.update(key);
  };
  state.changed(update);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => update("theme"));
  forPaper(root, (on) => {
    update("theme");
    for (const chart of charts.values()) chart.print(on);
    for (const panel of Object.values(panels)) panel.print?.(on);
  });
  return {
    state, panels,
    setRuns(page) {
      const runs = page.runs.map(toRun);
      // A number identifies the run of a long label in the table.
      if (runs.length > MANY) runs.forEach((run, i) => { if (run.label.includes(" = ")) run.label = `run ${i + 1}: ${run.label}`; });
      const shown = runs.length > MANY ? FIRST_CURVES : runs.length;
      runs.forEach((run, i) => { run.index = i % MOST_SERIES; run.shown = i < shown; });
      state.runs = runs;
      state.comparison = page.comparison;
      state.thinned = page.thinned ?? false;
      state.configuration = configuration(runs);
      state.selected = 0;
      show(select, runs.map((run, i) => el("option", { value: i }, run.label)));
      update("all");
    },
    update,
  };
}

/** Adds the selected run to a heading if a report has several. */
function named(heading, { runs, selected, live }) {
  heading.dataset.title ??= heading.textContent;
  const { title } = heading.dataset;
  show(heading, title, ...(runs.length > 1 && !live ? [el("span", { class: "of" }, `: ${runs[selected].label}`)] : []));
}

/** Opens everything and calls `change(true)` before printing, and reverts both afterwards. */
function forPaper(root, change) {
  let now = false;
  let opened = [];
  const set = (on) => {
    if (on === now) return;
    now = on;
    setPrinting(on);
    change(on);
    if (on) opened = [...root.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = on;
  };
  addEventListener("beforeprint", () => set(true));
  addEventListener("afterprint", () => set(false));
  // For browsers that report printing only to style sheets.
  matchMedia("print").addEventListener("change", (event) => set(event.matches));
}

/** Creates a button that switches the theme between system, light and dark. The choice is stored if possible. */
function themeButton(changed) {
  const order = ["", "light", "dark"];
  const names = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };
  const root = document.documentElement;
  const store = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("wafer-theme");
      localStorage.setItem("wafer-theme", value);
    } catch {
      // Pages opened from a file may have no storage; the choice then ends with the page.
    }
    return null;
  };
  const apply = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  const saved = store();
  apply(order.includes(saved) ? saved : "");
  const node = button(names[root.dataset.theme ?? ""], "Light, dark, or the theme of the system", () => {
    const next = order[(order.indexOf(root.dataset.theme ?? "") + 1) % order.length];
    apply(next);
    store(next);
    node.textContent = names[next];
    changed();
  });
  node.id = "theme";
  return node;
}
