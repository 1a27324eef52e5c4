// The modules of the pages that need no browser.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { endings, placeLabels, shortened } from "../js/chart_ends.js";
import { percentiles, powers } from "../js/latency_panel.js";

const web = new URL("../", import.meta.url);
const load = (name) => import(new URL(`js/${name}`, web));
const { thin, lowerBound, nearest } = await load("thin.js");
const { csv } = await load("exporting.js");
const { sums } = await load("data.js");
const format = await load("format.js");
const { configuration, series, toRun } = await load("run.js");
const { ticks } = await load("chart_svg.js");

test("thinning keeps every peak, every dip and every gap", () => {
  const n = 200000;
  const x = Float64Array.from({ length: n }, (_, i) => i);
  const y = Float64Array.from({ length: n }, () => 1);
  y[77777] = 50;
  y[123456] = -3;
  y[150001] = NaN;
  const kept = thin(x, y, 0, n, 500);
  assert.ok(kept.length <= 5 * 500);
  for (const i of [0, 77777, 123456, 150001, n - 1]) assert.ok(kept.includes(i), `index ${i}`);
  assert.deepEqual(kept, [...kept].sort((a, b) => a - b));
  // If there are few points, all stay, with a neighbour on either side of the visible ones.
  assert.deepEqual(thin(x, y, 10, 12, 500), [9, 10, 11, 12, 13]);
  assert.deepEqual(thin(new Float64Array(0), [], 0, 1, 500), []);
});

test("searches find their places", () => {
  const x = [1, 2, 4];
  assert.deepEqual([0, 1, 3, 5].map((v) => lowerBound(x, v)), [0, 0, 2, 3]);
  assert.deepEqual([0, 2.4, 3.5, 9].map((v) => nearest(x, v)), [0, 1, 2, 2]);
  assert.equal(nearest([], 1), -1);
});

test("CSV is quoted, and text is no formula", () => {
  assert.equal(csv([["a,b", 'say "x"', 1.5], ["=cmd()", "line\nbreak", NaN]]), '"a,b","say ""x""",1.5\r\n\'=cmd(),"line\nbreak",\r\n');
});

test("packed columns add up, and a key cannot change an object's nature", () => {
  const value = sums(JSON.parse('{"a":{"first":5,"steps":[1,0,-2]},"b":[{"c":[1.5]}],"__proto__":{"polluted":true}}'));
  assert.deepEqual(value.a, [5, 6, 6, 4]);
  assert.deepEqual(value.b[0].c, [1.5]);
  assert.equal({}.polluted, undefined);
});

test("numbers are written as the terminal writes them", () => {
  assert.deepEqual([0, 999, 1000, 12345, 999499, 999500, 12025908428800].map(format.bytes),
    ["0 B", "999 B", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "12.0 TB"].map((text) => text.replace(" ", "\u00a0")));
  assert.equal(format.tick(format.rate(8e10)), "80\u00a0GB/s");
  assert.equal(format.waf(NaN), "–");
  assert.deepEqual([0.5, 90, 120, 149, 3600, 7200].map(format.seconds), ["500 ms", "90.0 s", "2 min", "2 min 29 s", "60 min", "2.0 h"]);
  assert.equal(format.percent(0.061), "6.1\u00a0%");
});

test("handles are labelled with the jobs of the record, lists and ranges included", () => {
  const job = (name, handles) => ({ name, handles });
  const run = toRun({ label: "r", record: {
    name: "r", provenance: { workload: { jobs: [job("both", [0, 1]), job("range", [2, 3]), job("reads", [])] } },
    timeline: { host_bytes: [1, 2, 2], media_bytes: [1, 4, 8], handles: Object.fromEntries(["0", "1", "2", "3", "gc"].map((k) => [k, { host_bytes: [0, 1, 1], media_bytes: [0, 1, 2] }])) },
    metrics: { device: { cumulative: [1, 2, 4], instantaneous: [1, 3, null], gc_only: [2] }, handles: {} },
  } });
  assert.deepEqual(run.handles.map((h) => h.jobs), [["both"], ["both"], ["range"], ["range"], []]);
  assert.deepEqual([...series(run, null, "instantaneous", 5, 0).values], [1, 3, NaN]);
  assert.deepEqual([...series(run, null, "clamped", 2, 0).values], [1, 2, 2]);
});

test("the RU of all relocated data is a handle only where something was moved into it", () => {
  const keys = (moved) => toRun({ label: "r", record: {
    provenance: {}, metrics: { device: {}, handles: {} },
    timeline: { host_bytes: [1, 2], media_bytes: [1, 3], handles: { gc: { host_bytes: [0, moved], media_bytes: [0, moved] }, 0: { host_bytes: [1, 2], media_bytes: [1, 3] } } },
  } }).handles.map((h) => h.key);
  assert.deepEqual([keys(0), keys(1)], [["0"], ["0", "gc"]]);
});

test("a tick has no digits that are zero", () => {
  assert.deepEqual(["80.0 GB/s", "0 B/s", "100 GB/s", "2.50 µs", "10.0 µs", "10 ms"].map(format.tick), ["80 GB/s", "0 B/s", "100 GB/s", "2.5 µs", "10 µs", "10 ms"]);
});

test("keys that only a later run has stand with their group", () => {
  const run = (config) => ({ record: { provenance: { config } } });
  const keys = configuration([run({ gc: { policy: "fifo" } }), run({ gc: { policy: "fifo", choices: 2 }, page: "4KiB" })]).map((row) => row.key);
  assert.deepEqual(keys.slice(0, 4), ["device", "gc.policy", "gc.choices", "seed"]);
  assert.ok(keys.includes("page"));
});

test("ticks are round and within", () => {
  assert.deepEqual(ticks(0.94, 3.6, 6), [1, 1.5, 2, 2.5, 3, 3.5]);
  assert.deepEqual(ticks(0, 8, 8), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("words of pages are spelled as in America", () => {
  for (const name of readdirSync(new URL("js/", web))) {
    const texts = readFileSync(new URL(`js/${name}`, web), "utf8").replace(/^\s*(\/\/|\/?\*).*$/gm, "").match(/"[^"\n]*"|`[^`]*`/g) ?? [];
    for (const text of texts) if (!/^"\.\//.test(text)) assert.doesNotMatch(text.replace(/\$\{[^}]*\}/g, ""), /colour|grey|levelling|modelled|utilisation|summarise/i, name);
  }
});

test("no module makes HTML, evaluates text or reaches outside", () => {
  for (const name of readdirSync(new URL("js/", web))) {
    const text = readFileSync(new URL(`js/${name}`, web), "utf8");
    for (const word of ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "https://"]) {
      assert.ok(!text.includes(word), `${name}: ${word}`);
    }
  }
});

test("a narrow range of latencies has ticks too", () => {
  const at = (low, high) => powers(Math.log10(low), Math.log10(high)).map((tick) => Number((10 ** tick).toPrecision(4)));
  assert.deepEqual(at(8, 300), [10, 20, 50, 100, 200]);
  assert.deepEqual(at(11, 19.2), [12, 14, 16, 18]);
  assert.deepEqual(at(15.85, 19.2), [16, 17, 18, 19]);
  assert.deepEqual(at(10.02, 10.24), [10.1, 10.2]);
  assert.deepEqual(at(15.91, 15.94), []);
});

test("ticks of latencies and percentiles have room for their labels", () => {
  for (const [low, high] of [[60, 150], [8, 300], [1, 1e6], [59, 101], [95, 700], [11, 19.2]]) {
    const [from, to] = [Math.log10(low), Math.log10(high)];
    for (const pixels of [130, 230, 334]) {
      const places = powers(from, to, pixels).map((tick) => ((tick - from) / (to - from)) * pixels);
      assert.ok(places.length >= 3, `${low} to ${high} in ${pixels} px: ${places}`);
      places.slice(1).forEach((at, i) => assert.ok(at - places[i] >= 16 - 1e-6, `${low} to ${high} in ${pixels} px: ${places}`));
    }
  }
  const between = (low, high, pixels) => percentiles(low, high, pixels).map((at) => Number((100 * (1 - 10 ** -at)).toPrecision(5)));
  assert.deepEqual(between(0, 4, 900), [0, 90, 99, 99.9, 99.99]);
  assert.deepEqual(between(0, 1.5, 900), [0, 50, 90, 95]);
  assert.deepEqual(between(1.9, 2.5, 900), [99, 99.1, 99.2, 99.3, 99.4, 99.5, 99.6]);
  assert.ok(between(1.1, 1.9, 900).length >= 3);
});

test("labels at the ends of lines say what differs, stay at their lines, and give way in a full chart", () => {
  const name = (seed) => `a very long and unwieldy descriptive name, seed ${seed}`;
  assert.deepEqual(shortened([name(0), name(1), "short"]), ["…seed 0", "…seed 1", "short"]);
  assert.deepEqual(shortened([`only one ${"x".repeat(40)}`, "b"]).map((text) => text.length), [28, 1]);
  const area = { left: 0, right: 900, top: 0, bottom: 300, line: 15 };
  const placed = placeLabels(Array.from({ length: 5 }, () => ({ px: 100, py: 100, width: 80, text: "t" })), area);
  assert.equal(placed.filter(({ text }) => text).length, 3);
  for (const { top, py } of placed) assert.ok(Math.abs(top - py) <= 18);
  const chart = (n) => {
    const series = Array.from({ length: n }, (_, i) => ({ label: `run ${i}`, x: [0, i], y: [1, 1] }));
    return { series, visible: () => [0, n - 1], endsEarly: (s) => s.x[1] < n - 1 };
  };
  const texts = (n, width) => endings(chart(n), width).map(({ text }) => text);
  assert.deepEqual([texts(3, 900), texts(3, 480), texts(7, 900)], [["run 0", "run 1"], ["", ""], Array(6).fill("")]);
});
