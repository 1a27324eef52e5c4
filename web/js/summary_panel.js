// The runs: totals, WAF at round volumes, and which runs the chart shows.

import { el, parts, section, show, table } from "./dom.js";
import { bytes, count, percent, tidy, times, waf } from "./format.js";
import { swatch } from "./chart.js";
import { exporters } from "./exporting.js";
import { MANY, PARTS, onlyReads, showRun } from "./run.js";
import { runsTable } from "./runs_table.js";
import { axesOf } from "./sweep_panel.js";

/** Maximum number of differing settings with a column each. */
const MOST_SETTINGS = 4;
const CAPTION = "Totals of the runs";

/** Returns the name of a run with its line and its checkbox; with many runs, the name opens the run. */
function nameOf(state, run, i, settings) {
  const line = el("span", { class: "line" });
  const paint = () => show(line, run.shown ? swatch({ index: run.index }) : null);
  paint();
  const mark = el("input", {
    type: "checkbox", checked: run.shown, "aria-label": `Show ${run.label} in the chart`,
    onchange: (event) => {
      showRun(state.runs, run, event.target.checked);
      event.target.checked = run.shown;
      paint();
      state.set("shown", run);
    },
  });
  // At least one run stays in the chart.
  if (state.runs.length <= MANY) return el("label", { class: "run" }, state.runs.length > 1 ? mark : null, line, el("span", {}, parts(run.label)));
  const open = () => {
    state.set("selected", i);
    document.getElementById("findings").scrollIntoView();
  };
  // A label that consists of the settings in the next columns is not repeated.
  const short = settings.some(({ key }) => run.label.includes(`${key} = `)) ? `run\u00a0${i + 1}` : run.label;
  return el("span", { class: short === run.label ? "run" : "run short" }, mark, line,
    el("button", { type: "button", class: "open", title: `Open ${run.label}`, onclick: open }, short));
}

/** Returns the columns of the runs: sort values and cells. */
function columnsOf(state) {
  const of = (i) => state.runs[i];
  const summary = (i) => of(i).record.summary;
  const collected = (s) => (s.forced_gc === undefined ? NaN : (s.forced_gc ?? 0) + (s.background_gc ?? 0));
  const number = (name, title, value, text) => ({ name, title, number: true, value, cell: (i) => (Number.isFinite(value(i)) ? text(i) : "–") });
  const settings = state.runs.length > MANY ? axesOf(state.configuration).slice(0, MOST_SETTINGS) : [];
  return [
    { name: "run", value: (i) => of(i).label, cell: (i) => nameOf(state, of(i), i, settings) },
    number("WAF", undefined, (i) => (summary(i).host_bytes > 0 ? summary(i).waf : NaN), (i) => el("b", { class: "waf" }, waf(summary(i).waf))),
    ...settings.map(({ key, values }) => ({ name: key, value: (i) => values[i], cell: (i) => el("span", { class: values[i].length > 20 ? null : "named" }, tidy(values[i])) })),
    number("host (HBMW)", "Host bytes written", (i) => summary(i).host_bytes,
      (i) => bytes(summary(i).host_bytes) + (of(i).logical ? ` (${times(summary(i).host_bytes / of(i).logical)})` : "")),
    number("media (MBMW)", "Media bytes written", (i) => summary(i).media_bytes, (i) => bytes(summary(i).media_bytes)),
    number("erased (MBE)", "Media bytes erased", (i) => summary(i).erased_bytes ?? NaN, (i) => bytes(summary(i).erased_bytes)),
    number("not from hosts", "Share of the media bytes that hosts did not write",
      (i) => (summary(i).media_bytes > 0 ? of(i).metrics.added_share : NaN),
      (i) => el("span", { title: (of(i).metrics.parts ?? []).map((part) => `${PARTS[part.what]}: ${bytes(part.bytes)}`).join(", ") }, percent(of(i).metrics.added_share))),
    number("RUs collected", undefined, (i) => collected(summary(i)), (i) => count(collected(summary(i)))),
  ];
}

/** Creates the table of a sweep, searchable by names and by the settings in which its runs differ. */
function searched(state, columns) {
  const differing = state.configuration.filter((row) => row.differs);
  const text = (i) => [state.runs[i].label, ...differing.map(({ key, values }) => `${key} = ${values[i]}`)].join(" ");
  return runsTable(CAPTION, state.runs.length, columns, text);
}

/** Returns whether a run reaches a round volume that has a published value. */
const compared = (run) => run.metrics.volumes?.some(({ published }) => typeof published === "number");

function byVolume(state) {
  const runs = state.runs.filter((run) => run.metrics.volumes?.length && (run.shown || state.runs.length <= MANY)).slice(0, MANY);
  const ends = runs.map((run) => run.metrics.volumes.at(-1).volume);
  const same = new Set(ends).size === 1;
  const round = runs.flatMap((run) => run.metrics.volumes.slice(0, same ? undefined : -1).map((v) => v.volume));
  const volumes = [...new Set(round)].sort((a, b) => a - b);
  const rows = runs.flatMap((run) => {
    const found = volumes.map((volume) => run.metrics.volumes.find((v) => v.volume === volume));
    // For runs of different length, the last volume is the end of each, in a separate column.
    const end = run.metrics.volumes.at(-1);
    const cells = (text, at) => [...found.map(text), ...(same ? [] : [`${text(end)}${at}`])];
    const row = (name, text, at = "") => [name, ...cells(text, at)];
    const mine = row(runs.length > 1 ? run.label : "WAF", (v) => waf(v?.waf ?? NaN), ` at ${times(end.volume)}`);
    if (!compared(run)) return [mine];
    const off = (v) => (v?.difference_percent === undefined ? "–" : `${v.difference_percent >= 0 ? "+" : "−"}${percent(Math.abs(v.difference_percent) / 100, 1)}`);
    const theirs = runs.length > 1 ? `, ${run.label}` : "";
    return [mine, row(`published${theirs}`, (v) => waf(v?.published ?? NaN)), row(`difference${theirs}`, off)];
  });
  const number = (name) => ({ name, number: true });
  return { columns: [{ name: "host writes" }, ...volumes.map((volume) => number(times(volume))), ...(same ? [] : [number("last")])], rows };
}

/** Totals at the top. */
export function summaryPanel(state) {
  const body = el("div", {});
  let runs = null;
  let sweep = null;
  const update = () => {
    const columns = columnsOf(state);
    if (state.runs.length <= MANY) show(body, table(CAPTION, columns, state.runs.map((_, i) => columns.map((column) => column.cell(i)))));
    else if (runs === state.runs) sweep.draw();
    else {
      sweep = searched(state, columns);
      show(body, sweep.element, state.thinned ? el("p", { class: "note" },
        `Curves are thinned and maps of reclaim units omitted: there are ${count(state.runs.length)} runs. A report of fewer runs has everything.`) : null);
    }
    runs = state.runs;
  };
  return { element: section("runs", "Runs", [], body), update, print: (on) => sweep?.print(on) };
}

/** Cumulative WAF at round volumes. */
export function volumesPanel(state) {
  const body = el("div", {});
  let rows = [];
  const element = section("volumes", "Cumulative WAF at round volumes", exporters("volumes", null, () => rows), body);
  const update = () => {
    const { columns, rows: cells } = byVolume(state);
    element.hidden = cells.length === 0 || onlyReads(state);
    rows = [columns.map((c) => c.name), ...cells];
    const sources = [...new Set(state.runs.slice(0, MANY).filter(compared).flatMap((run) => run.published.map((p) => p.source)))];
    show(body, table("Cumulative WAF at round volumes", columns, cells),
      sources.map((source) => el("p", { class: "note" }, `Published: ${source}`)));
  };
  return { element, update };
}
