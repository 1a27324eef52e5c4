// The page of `wafer explore`: controls, the device in a worker, and report panels that show its run.

import { button, el, show } from "./dom.js";
import { charts } from "./chart.js";
import { EARLIER } from "./colours.js";
import { unpack } from "./data.js";
import { save } from "./exporting.js";
import { ofAddress, toAddress } from "./explore_address.js";
import { makeControls } from "./explore_controls.js";
import { makeEngine } from "./explore_engine.js";
import { opened } from "./explore_module.js";
import { progressPanel } from "./explore_panel.js";
import { configuration, leaves, toRun } from "./run.js";
import { makeView } from "./view.js";

/** Milliseconds between two updates of the panels below the first screen. */
const SLOW = 1000;
/** Columns of the first screen. */
const COLUMNS = [["waf", "handles"], ["units", "findings"]];
const SPEEDS = [["1", "Full speed"], ["0.25", "A quarter"], ["0.0625", "A sixteenth"]];

async function main() {
  const root = document.getElementById("app");
  const page = await unpack(document.getElementById("data").textContent);
  const source = { run: null, state: "idle", checked: null };
  let [number, ran, earlier, pinned, slow] = [0, null, null, false, 0];

  const engine = await makeEngine(heard);
  const now = progressPanel(source);
  const controls = makeControls(engine.about, apply);
  const about = el("p", { class: "subtitle", id: "about" });
  const told = el("p", { class: "note", role: "status", id: "told" });
  const pause = button("Pause", "Hold the run, or go on", hold);
  pause.id = "pause";
  const again = button("Restart", "Run from the beginning", () => begin());
  again.id = "restart";
  const speed = el("select", { id: "speed", "aria-label": "Speed", onchange: (event) => engine.speed(Number(event.target.value)) },
    SPEEDS.map(([value, text]) => el("option", { value }, text)));
  const pin = button("Keep earlier curve", "Compare all further runs with the run in gray", () => {
    pinned = !pinned;
    pin.setAttribute("aria-pressed", String(pinned));
  });
  pin.id = "pin";
  pin.setAttribute("aria-pressed", "false");
  const presets = el("select", { id: "preset", "aria-label": "Examples", onchange: (event) => choose(page.presets[Number(event.target.value)]) },
    el("option", { value: "", disabled: true, selected: true }, "Examples"), page.presets.map(({ title }, i) => el("option", { value: i }, title)));
  const copies = [
    ["experiment", "Copy as experiment", "The experiment file, for `wafer run FILE`"],
    ["command", "Copy as command", "A command for a shell that makes this run"],
  ].map(([key, text, title]) => Object.assign(button(text, title, () => copy(key)), { id: `copy-${key}` }));
  const file = el("input", { type: "file", id: "open", accept: ".toml", hidden: true, onchange: async (event) => {
    const [chosen] = event.target.files;
    event.target.value = "";
    if (chosen) await read(await chosen.text());
  } });
  const openFile = button("Open", "Open an experiment file", () => file.click());
  const keep = button("Record", "Save the result record as JSON", () => source.run && save("record.json", "application/json", JSON.stringify(source.run.record)));
  keep.id = "save-record";
  const text = el("textarea", { id: "copied", rows: 12, readonly: true, spellcheck: "false", "aria-label": "Text to copy" });
  const box = el("div", { class: "copied", hidden: true }, text, button("Close", "Close the text", () => { box.hidden = true; }));
  const live = { first: [now], later: [], columns: COLUMNS };
  const view = makeView(root, page.title, about, [presets, pause, again, speed, pin, ...copies, openFile, file, keep], live);
  const heading = root.querySelector("h1");
  view.state.axis = "volume";
  root.classList.add("explore");
  root.querySelector("header").after(controls.element);
  root.querySelector("header").append(told, box);

  /** Checks settings, and runs them if they are valid. */
  async function apply(settings) {
    // The results on the screen no longer belong to the settings.
    source.state = "checking";
    valid(null);
    controls.set(settings);
    now.update();
    // The last change counts, although the answer to an earlier one may arrive later.
    number += 1;
    const asked = number;
    let checked;
    try {
      checked = await engine.ask({ do: "check", settings });
    } catch (error) {
      if (asked === number) refuse(error);
      return;
    }
    if (asked !== number) return;
    history.replaceState(null, "", `#${toAddress(settings)}`);
    valid(checked);
    controls.tell(checked);
    await begin();
  }

  /** Keeps what the module derives from the settings; without it, they are refused: nothing to copy, and nothing to run. */
  function valid(checked) {
    source.checked = checked;
    for (const one of [again, ...copies]) one.disabled = !checked;
  }

  function refuse(error) {
    engine.pause(true);
    valid(null);
    source.state = "refused";
    controls.refuse(error.message, error.key);
    draw();
  }

  /** Starts a run with the settings; the curve of the previous run stays in gray. */
  async function begin() {
    const { settings } = controls;
    if (!source.checked) return;
    if (source.run && ran && !pinned && JSON.stringify(ran) !== JSON.stringify(settings)) earlier = { run: source.run, settings: ran };
    if (earlier) Object.assign(earlier.run, { label: `earlier: ${difference(earlier, settings, source.checked.config)}`, index: EARLIER });
    ran = settings;
    number += 1;
    source.run = null;
    source.state = "running";
    told.textContent = source.checked.notices.join(" ");
    paused(false);
    await engine.start(number, settings);
    engine.speed(Number(speed.value));
    draw();
  }

  function hold() {
    if (!["running", "preparing", "paused"].includes(source.state)) return;
    const on = source.state !== "paused";
    source.state = on ? "paused" : "running";
    engine.pause(on);
    paused(on);
    now.update();
  }

  function paused(on) {
    pause.textContent = on ? "Continue" : "Pause";
    pause.setAttribute("aria-pressed", String(on));
  }

  function heard(message) {
    if (message.broken) {
      source.state = "broken";
      refuseAll(`The module stopped, which is a defect of wafer; the next change loads it again: ${message.broken}`);
      return;
    }
    if (message.run !== number) {
      engine.seen();
      return;
    }
    if (message.error !== undefined) {
      refuse(Object.assign(new Error(message.error), { key: message.key }));
      return;
    }
    source.run = toRun({ label: "this run", record: opened(message.record) });
    if (source.state !== "paused" || message.state === "done") source.state = message.state;
    // Draws with the browser's frames, and requests the next record when this one is on the screen.
    requestAnimationFrame(() => {
      draw();
      engine.seen();
    });
  }

  function refuseAll(text) {
    controls.refuse(text, null);
    now.update();
  }

  function draw() {
    pause.hidden = ["done", "refused", "broken"].includes(source.state);
    const runs = [source.run, earlier?.run].filter(Boolean);
    view.state.runs = runs;
    const whole = ["done", "refused"].includes(source.state) || performance.now() - slow > SLOW;
    if (whole) {
      slow = performance.now();
      view.state.configuration = configuration(runs);
      view.update("sentences");
    }
    if (source.run) view.update("live");
    else now.update();
  }

  async function choose(preset) {
    [earlier, pinned] = [null, false];
    pin.setAttribute("aria-pressed", "false");
    heading.textContent = preset.title;
    about.textContent = preset.text;
    await apply(structuredClone(preset.settings));
  }

  async function read(toml) {
    try {
      await apply(await engine.ask({ do: "read", text: toml }));
      heading.textContent = "wafer";
      about.textContent = "";
    } catch (error) {
      refuseAll(error.message);
    }
  }

  async function copy(key) {
    if (!source.checked) return;
    text.value = source.checked[key];
    box.hidden = false;
    text.select();
    try {
      await navigator.clipboard.writeText(text.value);
      told.textContent = "Copied.";
    } catch {
      // A page in a frame may not write to the clipboard, so the text is selected.
      told.textContent = "Selected: copy it with the keyboard.";
    }
  }

  /** Returns the settings in the address, or else those of the page. */
  async function enter() {
    let settings = page.settings;
    let wrong = null;
    if (location.hash.length > 1) {
      try {
        settings = ofAddress(location.hash);
      } catch (error) {
        wrong = error;
      }
    }
    // The address may come from anywhere.
    const known = [page, ...page.presets].find((one) => toAddress(one.settings) === toAddress(settings));
    heading.textContent = known?.title ?? "wafer";
    about.textContent = known?.text ?? "";
    await apply(structuredClone(settings));
    if (wrong) refuseAll(wrong.message);
  }
  addEventListener("hashchange", enter);
  globalThis.wafer = { view, charts, source, controls, engine, apply };
  await enter();
}

/** Describes how the settings of an earlier run differ from these, in a few words. */
function difference(earlier, settings, config) {
  const map = ({ device, workload, volume, pace, precondition, seed }, { timing, ...keys }) =>
    new Map(leaves({ device, ...keys, workload, volume, pace, precondition, seed }, ""));
  const theirs = map(earlier.settings, earlier.run.record.provenance.config);
  const mine = map(settings, config);
  const keys = [...new Set([...theirs.keys(), ...mine.keys()])].filter((key) => mine.get(key) !== theirs.get(key));
  const few = keys.slice(0, 2).map((key) => `${key.replace(/^workload\.(streams\.)?/, "")} = ${short(theirs.get(key))}`);
  return `${few.join(", ")}${keys.length > 2 ? ", …" : ""}`;
}

function short(text) {
  if (text === undefined || text === "undefined") return "default";
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

main().catch((error) => {
  show(document.getElementById("app"), el("p", { class: "error", role: "alert" }, `The page cannot run: ${error.message}`));
  throw error;
});
