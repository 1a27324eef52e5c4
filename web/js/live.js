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
/** Milliseconds until the next attempt to connect after a refusal. */
const AGAIN = 5000;

function main() {
  const source = { record: null, page: null, newest: null, connected: false };
  let paused = false;
  let waiting = false;
  let [slow, asked] = [0, 0];
  // After a pause, what is shown is old: states are left out until the server's record has come.
  let stale = false;
  const pause = button("Pause", "Freeze the page; the drive continues", () => {
    paused = !paused;
    pause.textContent = paused ? "Continue" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    stale = true;
    if (!paused) renew();
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
    if (paused || !source.record) return;
    view.state.runs = [toRun(source.page.runs[0])];
    view.update("live");
    if (performance.now() - slow > SLOW) renew();
  };
  // The server's record replaces the local one: it has intervals, new handles and a bounded history. The newest request
  // counts.
  const renew = () => {
    slow = performance.now();
    asked += 1;
    const number = asked;
    fetch("api/v1/page").then((answer) => answer.json()).then((page) => {
      if (paused || number !== asked) return;
      if (source.record?.name !== page.runs[0].record.name) {
        begin(page);
        return;
      }
      take(page);
      view.state.runs = [toRun(page.runs[0])];
      view.update("sentences");
    }).catch(() => { /* The stream reports a server that is gone. */ });
  };
  const take = (page) => {
    stale = false;
    source.page = page;
    // The heading has the full name; a line needs a short one.
    page.runs[0].label = "drive";
    source.record = page.runs[0].record;
  };
  // Shows a drive from the beginning.
  const begin = (page) => {
    take(page);
    const { name, provenance } = source.record;
    heading.textContent = name;
    document.title = `${name} - wafer`;
    subtitle.textContent = `live, wafer ${provenance.version ?? ""}, device ${provenance.device || "–"}`;
    view.setRuns(page);
    slow = performance.now();
  };
  // Draws once per browser frame: a hidden page costs nothing, and states between two frames are skipped.
  const soon = () => {
    if (paused || waiting) return;
    waiting = true;
    requestAnimationFrame(redraw);
  };

  const connected = (is) => {
    if (source.connected === is) return;
    source.connected = is;
    now.update();
  };
  // While the page is paused, its data stay those of one moment.
  const heard = {
    page: (page) => {
      asked += 1;
      if (!paused || !source.record) begin(page);
    },
    state: (state) => {
      if (paused) return;
      source.newest = state;
      if (!stale && source.record && addState(source.record, state)) soon();
      else if (!stale || performance.now() - slow > SLOW) renew();
    },
  };
  const connect = () => {
    const events = new EventSource("api/v1/events");
    for (const [kind, hear] of Object.entries(heard)) {
      events.addEventListener(kind, (event) => {
        hear(JSON.parse(event.data));
        connected(true);
      });
    }
    events.addEventListener("error", () => {
      connected(false);
      // The browser connects again by itself, but not after a refusal.
      if (events.readyState !== EventSource.CLOSED) return;
      if (!source.record) subtitle.textContent = "The server refuses this page: it has too many viewers, or another token. Trying again.";
      setTimeout(connect, AGAIN);
    });
  };
  connect();
  globalThis.wafer = { view, charts, source };
}

main();
