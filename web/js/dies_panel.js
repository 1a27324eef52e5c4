// Die utilization of a run with a clock, and the parts of the slowest requests, as stacked bars.

import { el, section, show, table } from "./dom.js";
import { micros, percent } from "./format.js";
import { colour } from "./colours.js";
import { exporters } from "./exporting.js";
import { known } from "./latency_panel.js";
import { DIRECTIONS } from "./run.js";

/** Work and parts in stacking order; each keeps its colour, and unlisted ones come last. */
const WORK = ["host_program", "gc_program", "gc_read", "erase", "host_read", "metadata_program", "fold_program", "idle"];
const PARTS = ["host programs", "gc programs", "gc reads", "erases", "other reads", "metadata programs", "cells", "controller",
  "link", "write buffer", "pacing of gc", "channel", "folds", "map"];

const words = (name) => name.replaceAll("_", " ").replace(/\bgc\b/, "GC");
const ordered = (values, order) => Object.entries(values ?? {}).filter(([, value]) => value > 0)
  .sort(([a], [b]) => (order.indexOf(a) + 99) % 99 - (order.indexOf(b) + 99) % 99);

/** From the ninth part on, colours repeat, hatched. */
const paint = (name, order) => (order.indexOf(name) < 8 ? "solid" : "hatched");

/** Returns a bar of shares; idle time is left empty. */
function stack(values, order) {
  const parts = ordered(values, order);
  const all = parts.reduce((sum, [, value]) => sum + value, 0);
  const text = parts.map(([name, value]) => `${words(name)} ${percent(value / all)}`).join(", ");
  const bar = el("span", { class: "bar", role: "img", "aria-label": text, title: text });
  for (const [name, value] of parts) {
    const piece = el("span", { class: paint(name, order) });
    piece.style.width = `${(100 * value) / all}%`;
    if (name !== "idle") piece.style.backgroundColor = colour(order.indexOf(name));
    bar.append(piece);
  }
  return bar;
}

function legend(names, order) {
  return el("p", { class: "legend" }, names.map((name) => {
    const square = el("span", { class: `square ${paint(name, order)}`, "aria-hidden": "true" });
    if (name !== "idle") square.style.backgroundColor = colour(order.indexOf(name));
    return el("span", { class: "entry" }, square, ` ${words(name)} `);
  }));
}

export function diesPanel(state) {
  const body = el("div", {});
  let data = [];
  const element = section("dies", "What dies and requests spend their time on", exporters("dies", null, () => data), body);
  const update = () => {
    const timed = state.runs.filter((run) => run.record.time?.dies);
    element.hidden = timed.length === 0;
    if (element.hidden) return;
    const used = WORK.filter((work) => timed.some((run) => run.record.time.dies[work] > 0));
    const run = state.runs[state.selected];
    const bands = DIRECTIONS.flatMap(([key, name]) =>
      (run.record.time?.[key]?.bands ?? []).filter((band) => known(run.record.time[key], band.from)).map((band) => ({ name: `${name}, p${band.from} to p${band.to}`, parts: band.parts_us })));
    const parts = PARTS.filter((part) => bands.some((band) => band.parts[part] > 0));
    data = [["what", "part", "share or microseconds"],
      ...timed.flatMap((r) => ordered(r.record.time.dies, WORK).map(([work, share]) => [r.label, words(work), share])),
      ...bands.flatMap((band) => ordered(band.parts, PARTS).map(([part, us]) => [band.name, words(part), us]))];
    const since = state.live ? ", mean since start" : "";
    show(body,
      table("Die utilization", [{ name: "run" }, { name: `busy${since}`, number: true }, { name: `power${since}`, number: true }, { name: `share of total die time${state.live ? " since start" : ""}` }],
        timed.map((r) => [r.label, percent(1 - (r.record.time.dies.idle ?? 0)), `${r.record.time.mean_watts.toFixed(1)} W`, stack(r.record.time.dies, WORK)])),
      legend(used, WORK),
      bands.length ? [
        table("Latency breakdown", [{ name: `${run.label}: requests` }, { name: "mean", number: true }, { name: "share of their time" }],
          bands.map((band) => [band.name, micros(Object.values(band.parts).reduce((sum, us) => sum + us, 0)), stack(band.parts, PARTS)])),
        legend(parts, PARTS)] : null);
  };
  return { element, update };
}
