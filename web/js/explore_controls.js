// The form of the page: settings in, changed settings out. Errors of the library appear at the control at fault.

import { button, el, show } from "./dom.js";
import { count, percent } from "./format.js";
import { BLOCKS, COLLECTION, DEVICE, PATTERNS, SKEWS, at } from "./explore_fields.js";

/**
 * Creates the form. `about` is what the module offers; `changed(settings)` is called after every change. Returns
 * `element`, `set(settings)`, `refuse(text, key)` and `tell(checked)`.
 */
export function makeControls(about, changed) {
  let settings = null;
  const errors = new Map();
  const body = el("div", { class: "form" });
  const note = el("p", { class: "note", id: "derived" });
  const error = el("p", { class: "error", role: "alert", id: "refusal", hidden: true });

  const profile = () => about.devices.find((device) => device.summary.name === settings.device);
  /** Returns the value of a device key: the setting, or the profile's. */
  const value = (key) => {
    if (key in settings.set) return settings.set[key];
    if (key === "overprovisioning") return profile()?.summary.overprovisioning ?? 0;
    return at(profile()?.config, key) ?? "";
  };
  const change = (edit) => {
    settings = structuredClone(settings);
    edit(settings);
    changed(settings);
  };
  const setKey = (key, to) => change(({ set }) => {
    // With another capacity, the profile's number of reclaim units would change over-provisioning.
    if (["capacity", "reclaim_unit.size"].includes(key) && !("overprovisioning" in set) && !("reclaim_unit.count" in set)) {
      set.overprovisioning = Number(value("overprovisioning").toFixed(4));
    }
    // The clock requires whole pages of the map. This page has no clock, but the device is checked as a whole.
    if (key === "page" && profile()?.config.timing) set["timing.plane_page"] = to;
    if (key === "overprovisioning") delete set["reclaim_unit.count"];
    if (to === "") delete set[key];
    else set[key] = to;
  });

  const row = (key, label, control, shown) => {
    const wrong = el("span", { class: "error", id: `wrong-${key}`, hidden: true });
    errors.set(key, { wrong, control });
    return el("div", { class: "row" }, el("label", { for: control.id }, label), control, shown ?? null, wrong);
  };
  const select = (id, choices, chosen, hear) => el("select", { id, onchange: (event) => hear(event.target.value) },
    (choices.some(([name]) => name === String(chosen)) ? choices : [[String(chosen), String(chosen)], ...choices])
      .map(([name, text]) => el("option", { value: name, selected: name === String(chosen) }, text)));
  const range = (id, { low, high, step, show: text }, chosen, hear) => {
    const shown = el("output", { for: id }, text(chosen));
    const slider = el("input", { type: "range", id, min: low, max: Math.max(high, chosen), step, value: chosen, "aria-valuetext": text(chosen),
      oninput: (event) => {
        const now = text(Number(event.target.value));
        shown.textContent = now;
        slider.setAttribute("aria-valuetext", now);
      },
      onchange: (event) => hear(Number(event.target.value)) });
    return [slider, shown];
  };
  const field = (one) => {
    const id = `set-${one.key}`;
    const now = value(one.key);
    if (one.kind === "select") return row(one.key, one.label, select(id, one.key === "gc.policy" ? about.policies.map(({ name }) => [name, name]) : one.choices, now, (to) => setKey(one.key, to)));
    if (one.kind === "check") return row(one.key, one.label, el("input", { type: "checkbox", id, checked: now !== false, onchange: (event) => setKey(one.key, event.target.checked) }));
    return row(one.key, one.label, ...range(id, one, Number(now), (to) => setKey(one.key, to)));
  };
  const group = (title, open, ...children) => el("details", { open, class: "group", id: `group-${title.toLowerCase().replace(/\W+/g, "-")}` },
    el("summary", {}, title), children.flat(2));

  const runFields = () => {
    const text = (id, label, key, now, read) => row(key, label, el("input", { type: "text", id, value: now, size: 8, onchange: (event) => change((s) => {
      const to = read(event.target.value.trim());
      if (to === undefined) delete s[key];
      else s[key] = to;
    }) }));
    const fresh = settings.precondition ?? "fresh";
    const states = [["fresh", "Fresh"], ["sequential", "Sequential fill"], ["sequential+random:1", "Fill, then random x1"], ["steady", "Steady"], ["load", "Loaded"]];
    return [
      text("volume", "Volume", "volume", settings.volume ?? "", (to) => to || undefined),
      row("precondition", "Before the run", select("precondition", states, fresh, (to) => change((s) => {
        if (to === "fresh") delete s.precondition;
        else s.precondition = to;
      }))),
      text("seed", "Seed", "seed", settings.seed, (to) => (/^\d+$/.test(to) && Number.isSafeInteger(Number(to)) ? Number(to) : to)),
      row("attribution", "Attribution", el("input", { type: "checkbox", id: "attribution", checked: settings.attribution, onchange: (event) => change((s) => { s.attribution = event.target.checked; }) })),
    ];
  };

  const stream = (one, i) => {
    const edit = (key, to) => change((s) => {
      s.workload.streams[i][key] = to;
      if (key === "pattern") s.workload.streams[i].skew = SKEWS[to];
    });
    const name = `stream ${i + 1}`;
    const number = (key, label, low, high, step) => el("label", {}, label, el("input", { type: "number", id: `stream-${i}-${key}`, "aria-label": `${label}, ${name}`, min: low, max: high, step, value: one[key],
      onchange: (event) => edit(key, Number(event.target.value)) }));
    const choose = (key, label, choices, kind) => el("label", { class: kind }, label, Object.assign(select(`stream-${i}-${key}`, choices, one[key], (to) => edit(key, to)), { ariaLabel: `${label}, ${name}` }));
    const share = one.share === undefined ? null : el("label", { class: "wide" }, `Share ${percentOf(i)}`, el("input", { type: "range", id: `stream-${i}-share`, "aria-label": `Share, ${name}`, min: 0.01, max: 1, step: 0.01, value: one.share,
      onchange: (event) => edit("share", Number(event.target.value)) }));
    const remove = settings.workload.streams.length > 1 ? button("Remove", `Remove ${one.name}`, () => change((s) => s.workload.streams.splice(i, 1))) : null;
    return el("fieldset", { class: "stream" }, el("legend", {}, one.name),
      choose("pattern", "Pattern", PATTERNS, "wide"), choose("bs", "Block", named(BLOCKS)), number("handle", "Handle", 0, 127, 1),
      number("offset", "From %", 0, 99, 1), number("size", "Size %", 1, 100, 1),
      one.pattern === "zipf" ? number("skew", "Theta", 0.1, 5, 0.1) : one.pattern === "hot" ? number("skew", "Hot %", 1, 99, 1) : null,
      share, remove);
  };
  const percentOf = (i) => {
    const all = settings.workload.streams.reduce((sum, { share }) => sum + share, 0);
    return percent(settings.workload.streams[i].share / all, 0);
  };
  const workload = () => {
    const { streams, fio, toml } = settings.workload;
    const wrong = el("span", { class: "error", id: "wrong-workload", hidden: true });
    errors.set("workload", { wrong, control: null });
    if (!streams) {
      const kind = fio === undefined ? "toml" : "fio";
      const text = el("textarea", { id: "workload-text", rows: 14, spellcheck: "false", "aria-label": kind === "fio" ? "fio job file" : "Workload, as in an experiment file",
        onchange: (event) => change((s) => { s.workload[kind] = event.target.value; }) });
      text.value = fio ?? toml;
      errors.set("workload", { wrong, control: text });
      const pace = kind === "fio" ? row("pace", "Shares", el("input", { type: "text", id: "pace", value: settings.pace ?? "", placeholder: "JOB=SHARE,...", onchange: (event) => change((s) => {
        if (event.target.value.trim()) s.pace = event.target.value.trim();
        else delete s.pace;
      }) })) : null;
      return [text, pace, wrong];
    }
    const shared = streams.every((one) => one.share !== undefined);
    const sharing = el("label", { class: "check" }, el("input", { type: "checkbox", id: "shared", checked: shared, onchange: (event) => change((s) => {
      for (const one of s.workload.streams) {
        if (event.target.checked) one.share = 1 / s.workload.streams.length;
        else delete one.share;
      }
    }) }), " Fixed shares; else those of a closed loop");
    const add = button("Add a stream", "Add a stream that writes everywhere at random", () => change((s) => {
      const names = new Set(s.workload.streams.map(({ name }) => name));
      let n = s.workload.streams.length;
      while (names.has(`stream${n}`)) n += 1;
      const last = s.workload.streams.at(-1);
      s.workload.streams.push({ name: `stream${n}`, pattern: "uniform", skew: 0, offset: 0, size: 100, bs: "4k", handle: last.handle + 1, ...(last.share === undefined ? {} : { share: last.share }) });
    }));
    const asText = button("Edit as fio jobs", "Continue with the text of the job file", () => change((s) => {
      if (s.workload.streams.every((one) => one.share !== undefined)) s.pace = s.workload.streams.map(({ name, share }) => `${name}=${share}`).join(",");
      s.workload = { fio: jobFile };
    }));
    asText.disabled = jobFile === null;
    return [streams.map(stream), sharing, el("div", { class: "tools" }, add, asText), wrong];
  };

  let jobFile = null;
  // On a narrow page, the controls start closed, so that the curves are visible.
  const wide = matchMedia("(min-width: 64rem)").matches;
  const open = new Map();
  const draw = () => {
    const focused = document.activeElement?.id;
    for (const group of body.querySelectorAll("details")) open.set(group.id, group.open);
    errors.clear();
    const devices = about.devices.map(({ summary }) => [summary.name, summary.name]);
    const device = settings.device === undefined || settings.device === null
      ? null : row("device", "Profile", select("set-device", devices, settings.device, (to) => change((s) => { s.device = to; })));
    show(body,
      group("Drive", wide, device, DEVICE.map(field), note),
      group("Garbage collection", wide, COLLECTION.map(field)),
      group(settings.workload.streams ? "Streams" : "Workload", wide, workload()),
      group("Run", wide, runFields()));
    for (const group of body.querySelectorAll("details")) if (open.has(group.id)) group.open = open.get(group.id);
    if (focused) document.getElementById(focused)?.focus();
  };

  return {
    element: el("section", { id: "settings", "aria-labelledby": "settings-title" }, el("h2", { id: "settings-title" }, "Settings"), error, body),
    get settings() {
      return settings;
    },
    set(next) {
      settings = next;
      draw();
    },
    /** Shows the values that the module derives from the settings. */
    tell({ device, job_file: text }) {
      jobFile = text;
      const op = percent(device.overprovisioning, 1);
      note.textContent = `${count(device.reclaim_unit_count)} reclaim units, over-provisioning ${op}`;
      error.hidden = true;
      for (const { wrong, control } of errors.values()) {
        wrong.hidden = true;
        control?.removeAttribute("aria-invalid");
      }
      const asText = [...body.querySelectorAll("button")].find((one) => one.textContent.startsWith("Edit as"));
      if (asText) asText.disabled = false;
    },
    /** Shows the library's error at the control of its key, and at the top. */
    refuse(text, key) {
      error.textContent = text;
      error.hidden = false;
      const short = (key ?? "").replace(/^device\./, "");
      for (const [at, { wrong, control }] of errors) {
        const here = short === at || (at === "workload" && short.startsWith("workload"));
        wrong.hidden = !here;
        wrong.textContent = here ? text.replace(/^explore\.toml(:\d+)?: /, "") : "";
        if (here) control?.setAttribute("aria-invalid", "true");
        else control?.removeAttribute("aria-invalid");
        if (here) wrong.closest("details").open = true;
      }
    },
  };
}

function named(values) {
  return values.map((value) => [value, value]);
}
