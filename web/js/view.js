// The page: panels over one state. The report and the live page differ in where the runs come from.

import { button, el, show } from "./dom.js";
import { makeState } from "./state.js";
import { bandwidthPanel } from "./bandwidth_panel.js";
import { configurationPanel } from "./configuration_panel.js";
import { findingsPanel } from "./findings_panel.js";
import { handlesPanel } from "./handles_panel.js";
import { matrixPanel } from "./matrix_panel.js";
import { summaryPanel, volumesPanel } from "./summary_panel.js";
import { unitsPanel } from "./units_panel.js";
import { controls, wafPanel } from "./waf_panel.js";

/** Builds the page in `root`; `extra` are panels of the live page, shown after the summary. */
export function makeView(root, title, subtitle, extra, tools) {
  const state = makeState();
  const bar = controls(state);
  const select = el("select", { id: "selected", onchange: (event) => state.set("selected", Number(event.target.value)) });
  const chooser = el("p", { class: "chooser" }, el("label", {}, "Look into run ", select));
  const waf = wafPanel(state);
  const panels = {
    summary: summaryPanel(state), findings: findingsPanel(state), waf, bandwidth: bandwidthPanel(state), handles: handlesPanel(state),
    matrix: matrixPanel(state), units: unitsPanel(state), volumes: volumesPanel(state), configuration: configurationPanel(state),
  };
  const top = el("header", {},
    el("div", {}, el("h1", {}, title), subtitle),
    el("div", { class: "tools" }, tools, themeButton(() => state.set("theme"))));
  show(root, top, panels.summary.element, chooser, panels.findings.element, (extra ?? []).map((panel) => panel.element),
    bar.element, panels.waf.element, panels.bandwidth.element, panels.handles.element, panels.matrix.element,
    panels.units.element, panels.volumes.element, panels.configuration.element);

  const of = {
    metric: ["waf", "handles"], limit: ["waf", "handles"], axis: ["waf", "handles"], interval: ["waf", "handles"], published: ["waf"],
    shown: ["waf"], selected: ["findings", "bandwidth", "handles", "matrix", "units"],
    // What a running drive changes; the rest follows when it is asked for.
    live: ["summary", "waf", "bandwidth", "handles", "matrix", "units"],
    sentences: ["findings", "volumes"],
  };
  const update = (key) => {
    bar.update();
    chooser.hidden = state.runs.length < 2;
    for (const name of of[key] ?? Object.keys(panels)) panels[name].update(key);
    for (const panel of extra ?? []) panel.update(key);
  };
  state.changed(update);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => update("theme"));
  return {
    state, panels,
    setRuns(runs) {
      state.runs = runs;
      state.selected = 0;
      show(select, runs.map((run, i) => el("option", { value: i }, run.label)));
      update("all");
    },
    update,
  };
}

/** Switches between what the system says, light and dark; remembered where the browser lets it. */
function themeButton(changed) {
  const order = ["", "light", "dark"];
  const names = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };
  const root = document.documentElement;
  const store = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("wafer-theme");
      localStorage.setItem("wafer-theme", value);
    } catch {
      // Pages opened from a file may have no storage; the choice then lasts as long as the page.
    }
    return null;
  };
  const apply = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  const saved = store();
  apply(order.includes(saved) ? saved : "");
  const node = button(names[root.dataset.theme ?? ""], "Light, dark, or as the system says", () => {
    const next = order[(order.indexOf(root.dataset.theme ?? "") + 1) % order.length];
    apply(next);
    store(next);
    node.textContent = names[next];
    changed();
  });
  node.id = "theme";
  return node;
}
