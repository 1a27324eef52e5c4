// Shared by the browser tests: Chromium, pages that fail on complaints, records and reports.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const tools = process.env.WAFER_WEB_TOOLS;
assert.ok(tools, "WAFER_WEB_TOOLS names the folder with playwright-core; run scripts/web-test");
const { chromium } = createRequire(join(tools, "here.js"))("playwright-core");

export const wafer = process.env.WAFER_BIN;
assert.ok(wafer, "WAFER_BIN names the wafer binary; run scripts/web-test");
export const here = fileURLToPath(new URL(".", import.meta.url));
export const folder = mkdtempSync(join(tmpdir(), "wafer-web-"));

let browser;

/** Starts the distribution's Chromium. */
export async function launch() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Containers have no user namespace for the sandbox, and a small /dev/shm.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  return browser;
}

export async function close() {
  await browser?.close();
  browser = undefined;
}

/**
 * Opens a page that fails the test on any error, console message or external request. `allowed` are console messages
 * that a test provokes.
 */
export async function open(url, { allowed = /^$/, ready = () => globalThis.wafer, ...options } = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1200, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const complaints = [];
  const own = new URL(url);
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => { if (!allowed.test(message.text()) && !/willReadFrequently/.test(message.text())) complaints.push(`console: ${message.text()}`); });
  page.on("request", (request) => {
    const to = new URL(request.url());
    if (!["data:", "blob:"].includes(to.protocol) && to.host !== own.host) complaints.push(`request: ${request.url()}`);
    if (own.protocol === "file:" && to.protocol === "file:" && to.href.split("#")[0] !== own.href.split("#")[0]) complaints.push(`request: ${to.href}`);
  });
  await page.goto(url);
  await page.waitForFunction(ready, null, { timeout: 15000 }).catch((error) => {
    throw new Error(`${error.message}\n${complaints.join("\n")}`);
  });
  return {
    page, complaints,
    async done() {
      await context.close();
      assert.deepEqual(complaints, []);
    },
  };
}

/** Runs wafer and returns its stdout. */
export function run(...args) {
  return execFileSync(wafer, ["--quiet", ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
}

/** Writes records to files, makes a report of them, and returns its URL. */
export function report(name, records, ...args) {
  const files = records.map((record, i) => {
    if (typeof record === "string") return record;
    const path = join(folder, `${name}-${i}.json`);
    writeFileSync(path, JSON.stringify(record));
    return path;
  });
  const path = join(folder, `${name}.html`);
  run("report", ...files, "-o", path, ...args);
  return `file://${path}`;
}

/** Returns the record of a run on device.toml. */
export function simulated(name, ...args) {
  return simulatedOf("device.toml", name, ...args);
}

/** Returns the record of an experiment file in this folder. */
export function simulatedOf(experiment, name, ...args) {
  const path = join(folder, `${name}.json`);
  run("run", join(here, experiment), "--json", path, ...args);
  return { path, record: JSON.parse(readFileSync(path, "utf8")) };
}

/** Returns a record like that of a measurement, with time, from columns of counters. */
export function measured(name, seconds, host, media) {
  const last = (column) => column[column.length - 1];
  return {
    schema: "wafer.result/1", name,
    provenance: { version: "0.1.0", started: "2026-01-01T00:00:00Z", config: null, seed: null, measured: {
      device: "/dev/nvme0", model: null, serial: null, firmware: null, capacity_bytes: null, source: "fdp", endurance_group: 1,
      nvme_cli: "nvme version 2.13", interval_seconds: 1, command: [], exit_status: null, missed: 0, wraps: 0, resets: [],
    } },
    summary: { host_bytes: last(host), media_bytes: last(media), erased_bytes: 0, waf: last(media) / last(host) },
    timeline: { host_bytes: host, media_bytes: media, seconds, handles: {} },
  };
}

/** Asserts that two lists of numbers agree to six digits, gaps (null) in the same places. */
export function close_to(actual, expected, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, i) => {
    const wanted = expected[i];
    if (wanted === null || value === null) assert.equal(value, wanted, `${what}, ${i}`);
    else assert.ok(Math.abs(value - wanted) <= 1e-6 * Math.abs(wanted), `${what}, ${i}: ${value}, expected ${wanted}`);
  });
}

/** Returns the series of a chart as drawn: all samples, gaps as null. */
export function series(page, chart) {
  return page.evaluate((id) => globalThis.wafer.charts.get(id).series.map((s) => ({
    label: s.label, x: Array.from(s.x), y: Array.from(s.y, (v) => (v === v ? v : null)),
  })), chart);
}
