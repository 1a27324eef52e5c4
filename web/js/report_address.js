// The view of a report in its address, `#run=3&metric=instantaneous&curves=1,3&zoom=1.2,3`: a link opens what its
// sender saw. Defaults are left out.

import { showRun } from "./run.js";

const CHOICES = ["metric", "axis"];
const FIELDS = ["limit", "interval"];

/** Applies the view in the address, and then keeps the address current. `chart` is the WAF chart. */
export function keepAddress(root, { state, update }, chart) {
  const choices = (name) => [...root.querySelectorAll(`input[name="${name}"]`)];
  const field = (name) => root.querySelector(`#${name}`);
  const view = () => ({
    run: String(state.selected + 1),
    ...Object.fromEntries(CHOICES.map((name) => [name, choices(name).find((input) => input.checked)?.value])),
    ...Object.fromEntries(FIELDS.map((name) => [name, field(name).value])),
    curves: state.runs.flatMap((run, i) => (run.shown ? [i + 1] : [])).join(","),
    zoom: chart.range?.map((at) => Number(at.toPrecision(6))).join(","),
  });
  const usual = view();
  const wanted = new URLSearchParams(location.hash.slice(1));
  const numbers = (key) => (wanted.get(key) ?? "").split(",").map(Number);
  if (state.runs[wanted.get("run") - 1]) state.selected = wanted.get("run") - 1;
  if (wanted.has("curves")) {
    for (const run of state.runs) run.shown = false;
    for (const n of numbers("curves")) if (state.runs[n - 1]) showRun(state.runs, state.runs[n - 1], true);
  }
  for (const name of CHOICES) choices(name).find((input) => input.value === wanted.get(name))?.click();
  for (const name of FIELDS.filter((key) => wanted.has(key))) {
    const value = field(name).value;
    field(name).value = wanted.get(name);
    if (field(name).value === "") field(name).value = value;
    field(name).dispatchEvent(new Event("change"));
  }
  update("all");
  const zoom = numbers("zoom");
  if (zoom.length === 2 && zoom.every(Number.isFinite)) chart.zoom(zoom);
  const write = () => {
    const changed = Object.entries(view()).filter(([key, value]) => value !== undefined && value !== usual[key]);
    const text = new URLSearchParams(changed).toString().replaceAll("%2C", ",");
    history.replaceState(null, "", location.href.split("#")[0] + (text && `#${text}`));
  };
  state.changed(write);
  chart.zoomed = write;
}
