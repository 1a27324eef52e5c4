// Panels of a running drive only: state, current bandwidth, connections, FDP events.

import { el, section, show, table } from "./dom.js";
import { bytes, count, rate, waf } from "./format.js";

/** The line at the top: the current state of the drive. */
export function nowPanel(source) {
  const body = el("dl", { class: "now" });
  const entry = (name, value, id, kind) => el("div", { class: kind }, el("dt", {}, name), el("dd", { id }, value));
  const update = () => {
    const { record, newest, connected } = source;
    if (!record) return;
    const { live, summary } = record;
    const now = newest?.metrics;
    const speed = (values) => (values?.length && values[0] !== null ? rate(values[0]) : "–");
    const [free, open, closed] = live.free_open_closed;
    const { retired = 0, read_only: ended = false } = summary.wear ?? {};
    show(body,
      entry("State", connected ? live.state : "not connected", "now-state", connected && !ended ? "state up" : "state down"),
      entry("WAF now", waf(now?.device.instantaneous[0] ?? NaN), "now-waf", "main"),
      entry("WAF so far", summary.host_bytes > 0 ? waf(summary.waf) : "–", "now-cumulative"),
      entry("Host writes", speed(now?.host_bytes_per_second), "now-host", "main"),
      entry("Media writes", speed(now?.media_bytes_per_second), "now-media", "main"),
      entry("Host written", bytes(summary.host_bytes), "now-hbmw"),
      entry("Media written", bytes(summary.media_bytes), "now-mbmw"),
      entry("Host reads", bytes(summary.read_bytes ?? 0), "now-read"),
      entry(`Free, open, closed${retired ? ", retired" : ""} RUs`, [free, open, closed, ...(retired ? [retired] : [])].map(count).join(", "), "now-units"),
      entry("Connections", count(live.connections.length), "now-connections"));
  };
  return { element: section("now", "Now", [], body), update };
}

/** Connected hosts. */
export function connectionsPanel(source) {
  const body = el("div", {});
  const element = section("connections", "Connections", [], body);
  const update = () => {
    const connections = source.record?.live.connections ?? [];
    element.hidden = connections.length === 0;
    show(body, table("Connections", [
      { name: "peer" }, { name: "host" }, { name: "I/O queues", number: true }, { name: "commands", number: true },
    ], connections.map((c) => [c.peer, c.host, count(c.queues), count(c.commands)])));
  };
  return { element, update };
}

/** Formats a timestamp of a drive: since its start, or since 1970 if a host has set its clock. */
function moment(value) {
  return value > 1e8 ? new Date(value * 1000).toISOString().replace("T", " ").slice(0, 23) : `${value.toFixed(3)} s`;
}

/** FDP events: counts by type, and the newest. */
export function eventsPanel(source) {
  const body = el("div", {});
  const element = section("events", "FDP events", [], body);
  let shown = null;
  const update = () => {
    const live = source.record?.live;
    element.hidden = !live || (live.event_counts.length === 0 && live.events.length === 0);
    // A drive logs only events that hosts have enabled; a run logs all.
    const enabled = live?.drive?.enabled_events;
    const now = JSON.stringify([live?.events.at(-1)?.number, enabled]);
    if (element.hidden || now === shown) return;
    shown = now;
    const off = (kind, n) => n === 0 && enabled && !enabled.includes(kind);
    show(body, enabled?.length === 0 ? el("p", { class: "note" }, "None is enabled: a host enables event types by Set Features.") : null, el("div", { class: "beside" },
      table("Events by type", [{ name: "type" }, { name: "events", number: true }], live.event_counts.map(([kind, n]) => [kind, off(kind, n) ? "–" : count(n)])),
      live.events.length === 0 ? null : el("div", { class: "events", tabindex: "0", role: "region", "aria-label": "Newest FDP events" },
        table("Newest events", [{ name: "time" }, { name: "type" }, { name: "what" }],
          [...live.events].reverse().map((e) => [moment(e.seconds), e.kind, e.text])))));
  };
  return { element, update };
}
