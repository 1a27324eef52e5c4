// Bytes that hosts wrote through each handle, and bytes that the drive added.

import { el, section, show, table } from "./dom.js";
import { bytes, percent, waf } from "./format.js";
import { PARTS, last } from "./run.js";
import { swatch } from "./chart.js";
import { colour, handleIndex } from "./colours.js";
import { exporters } from "./exporting.js";
import { handleChart } from "./waf_panel.js";

export function handlesPanel(state) {
  const lines = handleChart(state);
  const body = el("div", {});
  const element = section("handles", "Handles", exporters("handles", () => lines.chart.svg(), lines.data), lines.chart.element, body);
  const update = () => {
    const run = state.runs[state.selected];
    element.hidden = !run || run.handles.length === 0;
    if (element.hidden) return;
    lines.update(run);
    const most = Math.max(1, ...run.handles.map((h) => last(h.media)));
    const rows = run.handles.map((h) => {
      const i = handleIndex(h.key);
      const host = last(h.host);
      const { waf: ratio, moved_bytes: added, moved_share: share } = h.totals;
      return [
        el("span", { class: "named" }, swatch({ index: i }), " ", h.label),
        h.key === "gc" ? "relocated data" : h.jobs.join(", ") || "–",
        bytes(host), bytes(last(h.media)), waf(ratio ?? NaN), percent(share), bar(host / most, added / most, i),
      ];
    });
    // The drive's own writes belong to no handle; with them, the rows add up to the device.
    const others = (run.metrics.parts ?? []).filter(({ what }) => ["map", "parity", "slc_cache"].includes(what))
      .map(({ what, bytes: size }) => ["no handle", PARTS[what], "–", bytes(size), "–", "–", ""]);
    show(body, table("Handles", [
      { name: "handle" }, { name: "written by" }, { name: "host", number: true }, { name: "media", number: true }, { name: "WAF", number: true },
      { name: "of all added", number: true }, { name: "host, then added" },
    ], [...rows, ...others]), el("p", { class: "note" },
      "Added bytes are what the drive wrote to the handle's reclaim units beyond what the host wrote: relocation and read-modify-write.",
      run.unitesWrites ? " Media bytes are counted when they leave the write buffer or SLC cache, so the WAF of a handle can be below 1." : null,
      run.handles.some((h) => h.key === "gc") ? " gc is the RU that GC fills for all initially isolated handles: "
        + "its host bytes are what was moved into it, its media bytes also what was moved again." : null));
  };
  return { element, update };
}

/** Returns a bar in two parts: solid for the host, hatched for what the drive added. */
function bar(host, added, index) {
  const node = el("span", { class: "bar", role: "img", "aria-label": `${percent(host)} host, ${percent(added)} added, of the largest` });
  const part = (share, kind) => {
    const piece = el("span", { class: kind });
    piece.style.width = `${100 * share}%`;
    piece.style.backgroundColor = colour(index);
    return piece;
  };
  node.append(part(host, "solid"), part(added, "hatched"));
  return node;
}
