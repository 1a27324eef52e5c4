// The live page: the panels of a report for a running drive.

import { button, el } from "./dom.js";
import { charts } from "./chart.js";
import { save } from "./exporting.js";
import { addState } from "./live_data.js";
import { connectionsPanel, eventsPanel, nowPanel } from "./live_panel.js";
import { toRun } from "./run.js";
import { makeView } from "./view.js";

/** Milliseconds between new records, which carry intervals and round volumes. States in between do not. */
const SLOW = 5000;

function main() {
  const source = { record: null, page: null, newest: null, connected: false };
  let paused = false;
  let waiting = false;
  let slow = 0;
  const pause = button("Pause", "Freeze the page; the drive continues", () => {
    paused = !paused;
    pause.textContent = paused ? "Continue" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) redraw();
  });
  pause.id = "pause";
  const keep = button("Record", "Save what is shown as a result record", () =>
    save("record.json", "application/json", JSON.stringify(source.record)));
  const subtitle = el("p", { class: "subtitle", id: "subtitle" }, "connecting");
  const now = nowPanel(source);
  const live = { first: [now], later: [connectionsPanel(source), eventsPanel(source)] };
  const view = makeView(document.getElementById("app"), "wafer", subtitle, [pause, keep], live);
  const heading = document.querySelector("h1");

  const redraw = () => {
    waiting = false;
    if (!source.record) return;
    view.state.runs = [toRun(source.page.runs[0])];
    view.update("live");
    if (performance.now() - slow > SLOW) renew();
  };
  // The server's record replaces the local one: it has intervals, new handles and a bounded history.
  const renew = () => {
    slow = performance.now();
    fetch("api/v1/page").then((answer) => answer.json()).then((page) => {
      take(page);
      if (paused) return;
      view.state.runs = [toRun(page.runs[0])];
      view.update("sentences");
    }).catch(() => { /* The stream reports a server that is gone. */ });
  };
  const take = (page) => {
    source.page = page;
    // The heading has the full name; a line needs a short one.
    page.runs[0].label = "drive";
    source.record = page.runs[0].record;
  };
  // Draws once per browser frame: a hidden page costs nothing, and states between two frames are skipped.
  const soon = () => {
    if (paused || waiting) return;
    waiting = true;
    requestAnimationFrame(redraw);
  };

  const events = new EventSource("api/v1/events");
  events.addEventListener("page", (event) => {
    take(JSON.parse(event.data));
    source.connected = true;
    const { name, provenance } = source.record;
    heading.textContent = name;
    document.title = `${name} - wafer`;
    subtitle.textContent = `live, wafer ${provenance.version ?? ""}, device ${provenance.device || "–"}`;
    view.setRuns(source.page);
    slow = performance.now();
  });
  events.addEventListener("state", (event) => {
    source.newest = JSON.parse(event.data);
    source.connected = true;
    if (addState(source.record, source.newest)) soon();
    else renew();
  });
  events.addEventListener("error", () => {
    source.connected = false;
    now.update();
  });
  globalThis.wafer = { view, charts, source };
}

main();
