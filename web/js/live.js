// The live page: the same panels as a report, over a drive that runs.

import { button, el } from "./dom.js";
import { charts } from "./chart.js";
import { save } from "./exporting.js";
import { addState } from "./live_data.js";
import { connectionsPanel, eventsPanel, nowPanel } from "./live_panel.js";
import { toRun } from "./run.js";
import { makeView } from "./view.js";

/** The sentences and tables need not follow each state. */
const SLOW = 5000;

function main() {
  const source = { record: null, growth: null, connected: false };
  let paused = false;
  let waiting = false;
  let slow = 0;
  const pause = button("Pause", "Hold the page still; the drive goes on", () => {
    paused = !paused;
    pause.textContent = paused ? "Continue" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) redraw();
  });
  pause.id = "pause";
  const keep = button("Record", "Save what is shown as a result record", () =>
    save("record.json", "application/json", JSON.stringify(source.record)));
  const subtitle = el("p", { class: "subtitle", id: "subtitle" }, "connecting");
  const extra = [nowPanel(source), connectionsPanel(source), eventsPanel(source)];
  const view = makeView(document.getElementById("app"), "wafer", subtitle, extra, [pause, keep]);
  const heading = document.querySelector("h1");

  const redraw = () => {
    waiting = false;
    if (!source.record) return;
    const [old] = view.state.runs;
    const run = toRun(source.record);
    run.shown = old?.shown ?? true;
    view.state.runs = [run];
    const now = performance.now();
    view.update("live");
    if (now - slow > SLOW) {
      slow = now;
      view.update("sentences");
    }
  };
  // Drawn when the browser draws: a hidden page costs nothing, and states that come faster are skipped.
  const soon = () => {
    if (paused || waiting) return;
    waiting = true;
    requestAnimationFrame(redraw);
  };

  const events = new EventSource("api/v1/events");
  events.addEventListener("record", (event) => {
    source.record = JSON.parse(event.data);
    source.connected = true;
    const { name, provenance } = source.record;
    heading.textContent = name;
    document.title = `${name} - wafer`;
    subtitle.textContent = `live, wafer ${provenance.version ?? ""}, device ${provenance.device ?? "–"}`;
    view.setRuns([toRun(source.record)]);
    slow = performance.now();
  });
  events.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    const { host_bytes: host, media_bytes: media } = source.record.summary;
    const { seconds } = source.record.timeline;
    const span = state.seconds - (seconds.at(-1) ?? 0);
    const grown = (now, before) => Math.max(0, now - before);
    source.growth = span > 0
      ? { seconds: span, host: grown(state.counters.host_bytes, host), media: grown(state.counters.media_bytes, media) }
      : source.growth;
    source.connected = true;
    addState(source.record, state);
    soon();
  });
  events.addEventListener("error", () => {
    source.connected = false;
    for (const panel of extra) panel.update("live");
  });
  globalThis.wafer = { view, charts, source };
}

main();
