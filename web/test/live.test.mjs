// The live page in Chromium, over a run of wafer.

import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { addState } from "../js/live_data.js";
import { close, folder, here, launch, open, wafer } from "./browser.mjs";

/** Starts a run with a live page, and returns its address once it is served. */
function start(name, ...args) {
  return begin("run", join(here, "device.toml"), "--volume", "100000x", "--json", join(folder, `${name}.json`), "--http", "127.0.0.1:0", ...args);
}

/** Starts wafer, and returns the address of its page. */
async function begin(...args) {
  const child = spawn(wafer, args, { stdio: ["ignore", "ignore", "pipe"] });
  let told = "";
  const url = await new Promise((found, failed) => {
    child.stderr.on("data", (data) => {
      told += data;
      const match = /live page: (\S+)\/(\S*)/.exec(told);
      if (match) found({ base: match[1], query: match[2] });
    });
    child.on("exit", () => failed(new Error(`wafer ended: ${told}`)));
  });
  return { ...url, stop: () => new Promise((done) => { child.on("exit", done); child.kill("SIGTERM"); setTimeout(() => child.kill("SIGKILL"), 3000).unref(); }) };
}

const get = (url, options = {}) => new Promise((done, failed) => {
  http.request(url, options, (answer) => {
    let body = "";
    answer.on("data", (data) => { body += data; });
    answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, body }));
  }).on("error", failed).end();
});
const wait = (ms) => new Promise((done) => { setTimeout(done, ms); });

describe("a run with a live page", () => {
  let live;
  before(async () => { live = await start("live"); });
  after(async () => { await live?.stop(); await close(); });

  test("counters, charts and reclaim units follow the drive", async () => {
    const { page, done } = await open(`${live.base}/`, { ready: () => globalThis.wafer?.source.record?.timeline.host_bytes.length > 3 });
    const look = () => page.evaluate(() => {
      const { source: { record }, charts } = globalThis.wafer;
      const [line] = charts.get("waf-chart").series;
      return { host: record.summary.host_bytes, media: record.summary.media_bytes, points: line.x.length, last: line.y.at(-1), map: document.querySelector("canvas.map").toDataURL().length, erases: record.reclaim_units.erases.reduce((a, b) => a + b, 0) };
    });
    const first = await look();
    await page.waitForFunction((points) => globalThis.wafer.charts.get("waf-chart").series[0].x.length >= points + 3, first.points);
    const second = await look();
    assert.ok(second.host > first.host && second.erases > first.erases && second.points > first.points);
    assert.ok(Math.abs(second.last - second.media / second.host) < 0.05 * second.last);
    assert.match(await page.locator("#now-host").innerText(), /[GMk]B\/s$/);
    assert.equal(await page.locator("#now-state").innerText(), "running");
    // The page shows the drive's values.
    const state = JSON.parse((await get(`${live.base}/api/v1/state`)).body);
    assert.ok(state.counters.host_bytes >= second.host);
    assert.deepEqual(Object.keys(state.handles), ["0", "1", "2", "3", "gc"]);
    // FDP events of the run: GC moves data all the time.
    const counts = Object.fromEntries(state.live.event_counts);
    assert.ok(counts["media reallocated"] > 0, JSON.stringify(counts));
    assert.ok(state.live.events.length > 0 && state.live.events.every((e, i, all) => i === 0 || e.number > all[i - 1].number));
    assert.match(await page.locator("#events").innerText(), /media reallocated/);
    await done();
  });

  test("one screen of 1440 x 900 shows state, WAF, bandwidth, map and causes", async () => {
    const { page, done } = await open(`${live.base}/`, {
      viewport: { width: 1440, height: 900 }, ready: () => globalThis.wafer?.source.record?.timeline.host_bytes.length > 4 && globalThis.wafer.source.newest,
    });
    const boxes = await page.evaluate(() => Object.fromEntries(["#now", "#waf-chart", "#bandwidth-chart", "canvas.map", "#findings li", "#handles", "#events"]
      .map((selector) => [selector, document.querySelector(selector).getBoundingClientRect()].map((v) => (typeof v === "string" ? v : { top: v.top, bottom: v.bottom, left: v.left, right: v.right })))));
    for (const selector of ["#now", "#waf-chart", "#bandwidth-chart", "canvas.map", "#findings li"]) {
      const { top, bottom, left, right } = boxes[selector];
      assert.ok(top >= 0 && bottom <= 900 && left >= 0 && right <= 1440, `${selector}: ${JSON.stringify(boxes[selector])}`);
    }
    assert.ok(boxes["canvas.map"].left >= boxes["#waf-chart"].right, "two columns");
    for (const selector of ["#handles", "#events"]) assert.ok(boxes[selector].top >= boxes["#bandwidth-chart"].bottom, selector);
    assert.deepEqual(await page.locator("#bandwidth-chart .entry").allInnerTexts().then((all) => all.map((text) => text.match(/[a-z]+ writes/)?.[0])), ["host writes", "media writes"]);
    assert.equal(await page.locator("#runs").count(), 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 1440);
    // The title of an axis does not overlap its tick labels.
    for (const chart of ["waf-chart", "bandwidth-chart"]) {
      const [size, widest] = await page.evaluate((id) => {
        const { plot } = globalThis.wafer.charts.get(id);
        const [, axis] = plot.axes;
        plot.ctx.save();
        plot.ctx.font = `${12 * devicePixelRatio}px sans-serif`;
        const widths = axis._values.map((text) => plot.ctx.measureText(text).width / devicePixelRatio);
        plot.ctx.restore();
        return [axis._size, Math.max(...widths)];
      }, chart);
      assert.ok(widest > 5 && size >= widest + 15, `${chart}: ${size} for ${widest}`);
    }
    if (process.env.WAFER_PICTURES) await page.screenshot({ path: join(process.env.WAFER_PICTURES, "live.png") });
    await done();
  });

  test("tiles are of one width", async () => {
    for (const width of [390, 1280]) {
      const { page, done } = await open(`${live.base}/`, { viewport: { width, height: 900 }, ready: () => globalThis.wafer?.source.newest && document.querySelector(".now div") });
      const widths = await page.locator(".now div").evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().width)));
      assert.ok(widths.length >= 10 && Math.max(...widths) - Math.min(...widths) <= 1 && widths[0] < width * 0.6, `${width} px: ${widths}`);
      await done();
    }
  });

  test("all numbers are of one moment", async () => {
    const { page, done } = await open(`${live.base}/`, { ready: () => globalThis.wafer?.source.newest });
    const seen = new Set();
    for (let i = 0; i < 5; i += 1) {
      const look = await page.evaluate(() => ({
        now: document.querySelector("#now-cumulative").textContent,
        found: document.querySelector("#findings li").textContent,
        handles: [...document.querySelectorAll("#handles tbody tr")].map((row) => row.cells[4].textContent),
        drawn: globalThis.wafer.charts.get("handles-chart").series.map((line) => line.y.at(-1).toFixed(3)),
      }));
      assert.ok(look.found.includes(`WAF ${look.now}:`), JSON.stringify(look));
      assert.deepEqual(look.handles, look.drawn);
      seen.add(look.now + look.found + look.handles);
      const points = await page.evaluate(() => globalThis.wafer.source.record.timeline.host_bytes.length);
      await page.waitForFunction((n) => globalThis.wafer.charts.get("waf-chart").series[0].x.length > n, points);
    }
    assert.ok(seen.size > 1, "the numbers move");
    await done();
  });

  test("collections mark the map without hiding it", async () => {
    const { page, done } = await open(`${live.base}/`, { ready: () => /framed\.$/.test(document.querySelector(".collected")?.textContent) });
    const { flashes, units, text } = await page.evaluate(() => {
      const { map } = globalThis.wafer.view.panels.units;
      return { flashes: map.flashes.size, units: map.units.erases.length, text: document.querySelector(".collected").textContent };
    });
    assert.ok(flashes <= Math.max(8, units / 100), `${flashes} of ${units}`);
    const [collected, framed] = text.replaceAll("\u202f", "").match(/\d+/g).map(Number);
    assert.ok(collected > framed && framed <= Math.max(8, units / 100), text);
    await done();
  });

  test("pause holds the page, continue catches up; zoom stays", async () => {
    const { page, done } = await open(`${live.base}/`, { ready: () => globalThis.wafer?.source.record?.timeline.host_bytes.length > 4 });
    await page.locator("#pause").click();
    const points = () => page.evaluate(() => globalThis.wafer.charts.get("waf-chart").series[0].x.length);
    // What is shown, and what would be saved.
    const moment = () => page.evaluate(() => [document.querySelector("#now dl").innerText, JSON.stringify(globalThis.wafer.source.record)]);
    await page.waitForTimeout(100);
    const [held, frozen] = [await points(), await moment()];
    const written = async () => JSON.parse((await get(`${live.base}/api/v1/state`)).body).counters.host_bytes;
    const before = await written();
    for (let i = 0; i < 3; i += 1) await wait(500);
    assert.ok(await written() > before);
    // A control that draws the page anew draws the same moment.
    await page.evaluate(() => globalThis.wafer.view.update("live"));
    assert.deepEqual([await points(), await moment()], [held, frozen]);
    await page.locator("#pause").click();
    await page.waitForFunction((n) => globalThis.wafer.charts.get("waf-chart").series[0].x.length > n, held);
    await page.getByTitle("Zoom in").click();
    const range = await page.evaluate(() => globalThis.wafer.charts.get("waf-chart").visible());
    const again = await points();
    await page.waitForFunction((n) => globalThis.wafer.charts.get("waf-chart").series[0].x.length > n, again);
    assert.deepEqual(await page.evaluate(() => globalThis.wafer.charts.get("waf-chart").visible()), range);
    await done();
  });

  test("dark mode and a phone", async () => {
    const { page, done } = await open(`${live.base}/`, {
      colorScheme: "dark", viewport: { width: 360, height: 740 }, ready: () => document.querySelector(".events tbody th"),
    });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(22, 25, 29)");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    // Found and measured in one call, because every frame rebuilds the table.
    const lines = await page.evaluate(() => [...document.querySelectorAll(".events tbody th")].map((node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return range.getClientRects().length;
    }));
    assert.ok(lines.length > 0 && lines.every((n) => n === 1), `the time of an event is broken: ${lines}`);
    await done();
  });

  test("metrics are what Prometheus takes, and the API says what it promises", async () => {
    const metrics = await get(`${live.base}/metrics`);
    assert.match(metrics.headers["content-type"], /^text\/plain; version=0\.0\.4/);
    assert.match(metrics.body, /^wafer_host_written_bytes_total [1-9]\d*$/m);
    assert.ok(process.env.PROMTOOL, "PROMTOOL names promtool; run scripts/web-test");
    const said = execFileSync(process.env.PROMTOOL, ["check", "metrics"], { input: metrics.body, encoding: "utf8" });
    assert.equal(said, "");
    const sum = (name) => [...metrics.body.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, "gm"))]
      .reduce((all, found) => all + Number(found[1]), 0);
    assert.equal(sum("wafer_handle_host_written_bytes_total"), sum("wafer_host_written_bytes_total"));
    assert.equal(sum("wafer_handle_media_written_bytes_total") + sum("wafer_relocated_again_bytes_total"),
      sum("wafer_media_written_bytes_total"));
    const record = JSON.parse((await get(`${live.base}/api/v1/record`)).body);
    assert.equal(record.schema, "wafer.result/1");
    assert.equal(record.timeline.host_bytes.length, record.timeline.seconds.length);
    const units = JSON.parse((await get(`${live.base}/api/v1/reclaim-units`)).body);
    assert.equal(units.owner.length, record.provenance.geometry.ru_count);
    const path = join(folder, "live-record.json");
    writeFileSync(path, JSON.stringify(record));
    execFileSync(wafer, ["--quiet", "report", path, "-o", join(folder, "live-record.html")]);
  });

  test("without JavaScript a link leads to tables and curves", async () => {
    const context = await (await launch()).newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${live.base}/`);
    await page.getByRole("link").click();
    await page.waitForURL(/\/still$/);
    assert.match(await page.locator("table").first().innerText(), /\d\.\d{3}/);
    assert.match(await page.locator(".note").first().innerText(), /^This page reloads every 10 seconds/);
    // On a phone a chart scrolls before its words become too small.
    await page.setViewportSize({ width: 390, height: 800 });
    const scale = await page.locator("svg.still").first().evaluate((node) => node.getBoundingClientRect().width / node.viewBox.baseVal.width);
    assert.ok(12 * scale >= 10, `${12 * scale} px`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    const curve = page.locator("svg.still path").first();
    assert.equal(await curve.evaluate((node) => getComputedStyle(node).stroke), "rgb(0, 114, 178)");
    await context.close();
  });

  test("nothing changes the drive, other names are refused, answers forbid what is not theirs", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      assert.equal((await get(`${live.base}/api/v1/state`, { method })).status, 405, method);
    }
    assert.equal((await get(`${live.base}/`, { headers: { host: "evil.example" } })).status, 403);
    for (const path of ["/nothing", "/web/../Cargo.toml", "/web/js/%2e%2e/%2e%2e/Cargo.toml", "/web/"]) {
      assert.equal((await get(`${live.base}${path}`)).status, 404, path);
    }
    const { headers } = await get(`${live.base}/`);
    assert.match(headers["content-security-policy"], /default-src 'none'; script-src 'self'/);
    assert.equal(headers["x-content-type-options"], "nosniff");
  });

  test("viewers that do not read cost nothing and do not stop others", async () => {
    // A page left open by another test is a viewer, too.
    await close();
    const viewers = async (n) => {
      const line = new RegExp(`^wafer_live_viewers ${n}$`, "m");
      for (let i = 0; i < 100 && !line.test((await get(`${live.base}/metrics`)).body); i += 1) await wait(100);
      assert.match((await get(`${live.base}/metrics`)).body, line);
    };
    await viewers(0);
    const sockets = await Promise.all(Array.from({ length: 20 }, () => new Promise((done, failed) => {
      const request = http.get(`${live.base}/api/v1/events`, { agent: false }, (answer) => { answer.pause(); done(request); });
      request.on("error", failed);
    })));
    await wait(1500);
    const before = JSON.parse((await get(`${live.base}/api/v1/state`)).body);
    await viewers(20);
    await wait(700);
    const after = JSON.parse((await get(`${live.base}/api/v1/state`)).body);
    assert.ok(after.counters.host_bytes > before.counters.host_bytes);
    for (const socket of sockets) socket.destroy();
    await viewers(0);
  });

  test("a page that the server refuses says so, and tries again", async () => {
    await close();
    const sockets = [];
    for (let i = 0; i < 64; i += 1) {
      sockets.push(await new Promise((done, failed) => {
        const request = http.get(`${live.base}/api/v1/events`, { agent: false }, (answer) => { answer.pause(); done(request); });
        request.on("error", failed);
      }));
    }
    const { page, done } = await open(`${live.base}/`, { ready: () => /refuses this page/.test(document.getElementById("subtitle")?.textContent), allowed: /503/ });
    for (const socket of sockets) socket.destroy();
    await page.waitForFunction(() => globalThis.wafer.source.record && document.getElementById("now-state"), null, { timeout: 15_000 });
    assert.match(await page.locator("#subtitle").innerText(), /^live, /);
    await done();
  });

  test("wafer top looks once into a pipe", () => {
    const text = execFileSync(wafer, ["top", live.base], { encoding: "utf8" });
    assert.match(text, /^running {2}host .* WAF \d\.\d{3}$/m);
    assert.match(text, /^handle +host +media +WAF +moved by GC$/m);
    const json = JSON.parse(execFileSync(wafer, ["top", live.base, "--json"], { encoding: "utf8" }));
    assert.ok(json.counters.host_bytes > 0);
  });
});

test("metrics by handle add up without FDP too", async () => {
  const live = await start("conventional", "--set", "fdp=false");
  const sum = (text, name) => [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, "gm"))].reduce((all, found) => all + Number(found[1]), 0);
  let text = "";
  for (let i = 0; i < 50 && !(sum(text, "wafer_relocated_bytes_total") > 0); i += 1) {
    await wait(100);
    text = (await get(`${live.base}/metrics`)).body;
  }
  assert.ok(sum(text, "wafer_relocated_bytes_total") > 0, text);
  assert.equal(sum(text, "wafer_handle_host_written_bytes_total"), sum(text, "wafer_host_written_bytes_total"));
  assert.equal(sum(text, "wafer_handle_media_written_bytes_total") + sum(text, "wafer_relocated_again_bytes_total"), sum(text, "wafer_media_written_bytes_total"));
  assert.equal(sum(text, "wafer_host_written_bytes_total") + sum(text, "wafer_relocated_bytes_total"), sum(text, "wafer_media_written_bytes_total"));
  await live.stop();
});

describe("a token", () => {
  let live;
  before(async () => { live = await start("token", "--http-token", "secret-of-test"); });
  after(async () => { await live?.stop(); await close(); });

  test("is needed everywhere, and the page keeps it in a cookie", async () => {
    for (const path of ["/", "/metrics", "/api/v1/state", "/api/v1/events", "/web/js/live.js"]) {
      assert.equal((await get(`${live.base}${path}`)).status, 401, path);
    }
    assert.equal((await get(`${live.base}/metrics`, { headers: { authorization: "Bearer secret-of-test" } })).status, 200);
    assert.equal((await get(`${live.base}/metrics`, { headers: { authorization: "Bearer secret-of-tesT" } })).status, 401);
    const { page, done } = await open(`${live.base}/${live.query}`, { ready: () => globalThis.wafer?.source.record?.timeline.host_bytes.length > 2 });
    assert.equal(await page.evaluate(() => document.cookie), "", "scripts cannot read it");
    await done();
    assert.throws(() => execFileSync(wafer, ["top", live.base, "--once"], { stdio: "pipe" }), /a token is needed/);
    assert.match(execFileSync(wafer, ["top", `${live.base}/${live.query}`, "--once"], { encoding: "utf8" }), /WAF/);
  });
});

describe("a drive that hosts use", () => {
  let live;
  before(async () => { live = await begin("serve", "--device", join(here, "drive.toml"), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"); });
  after(async () => { await live?.stop(); await close(); });

  test("is shown before the first host comes", async () => {
    const { page, done } = await open(`${live.base}/`, { ready: () => globalThis.wafer?.source.record?.timeline.host_bytes.length > 2 });
    assert.equal(await page.locator("#now-state").innerText(), "serving");
    assert.match(await page.locator("h1").innerText(), /^nqn\./);
    assert.match(await page.locator("#now-units").innerText(), /^92, 4, 0$/);
    assert.match(await page.locator("#findings").innerText(), /Hosts have written nothing/);
    // No host has enabled events: a count of 0 would be misleading.
    assert.match(await page.locator("#events").innerText(), /None is enabled[^]*media reallocated\s+–/);
    assert.equal(await page.locator(".events").count(), 0);
    const metrics = (await get(`${live.base}/metrics`)).body;
    assert.match(metrics, /^wafer_host_written_bytes_total 0$/m);
    assert.equal(execFileSync(process.env.PROMTOOL, ["check", "metrics"], { input: metrics, encoding: "utf8" }), "");
    await done();
  });
});

describe("a run with a clock", () => {
  let live;
  before(async () => {
    const fio = join(folder, "timed.fio");
    writeFileSync(fio, "[reads]\nrw=randread\nbs=4k\niodepth=4\ntime_based\nruntime=1d\n[writes]\nrw=randwrite\nbs=4k\niodepth=8\ntime_based\nruntime=1d\n");
    live = await begin("run", "--device", "pm9a3", "--set", "capacity=256MiB", "--set", "reclaim_unit.size=4MiB", "--precondition", "sequential",
      "--fio", fio, "--time", "--volume", "100000x", "--json", join(folder, "timed.json"), "--http", "127.0.0.1:0");
  });
  after(async () => { await live?.stop(); await close(); });

  test("shows latencies and what the dies do", async () => {
    const { page, done } = await open(`${live.base}/`, { ready: () => globalThis.wafer?.source.newest?.time?.read?.count > 0 && globalThis.wafer.source.record?.time });
    const count = () => page.evaluate(() => globalThis.wafer.source.record.time.read.count);
    const first = await count();
    await page.waitForFunction((before) => globalThis.wafer.source.record.time.read.count > before, first);
    assert.match(await page.locator("#latency table").innerText(), /reads[^]*writes/);
    for (const [section, what] of [["latency", "IOPS"], ["latency", "bandwidth"], ["dies", "busy"]]) {
      assert.ok((await page.locator(`#${section} thead`).first().innerText()).includes(`${what}, mean since start`), what);
    }
    assert.match(await page.locator("#dies").innerText(), /host program[^]*reads, p0 to p50/);
    // Series over time come with a record and stay.
    await page.waitForFunction(() => globalThis.wafer.charts.get("latency-time-chart").series?.length > 0);
    await page.waitForFunction((before) => globalThis.wafer.source.record.time.read.count > before, await count());
    assert.ok(await page.evaluate(() => globalThis.wafer.source.record.time.series.seconds.length > 1));
    assert.deepEqual(JSON.parse((await get(`${live.base}/api/v1/state`)).body).time.series.seconds, []);
    const metrics = (await get(`${live.base}/metrics`)).body;
    assert.match(metrics, /^wafer_latency_seconds\{direction="read",quantile="0.99"\} 0\.000\d+$/m);
    assert.equal(execFileSync(process.env.PROMTOOL, ["check", "metrics"], { input: metrics, encoding: "utf8" }), "");
    await done();
  });
});

test("states are appended to a record, and a reset asks for a new one", () => {
  const columns = () => ({ cumulative: [], instantaneous: [] });
  const record = {
    summary: {}, timeline: { seconds: [], host_bytes: [], media_bytes: [], handles: { 0: { host_bytes: [], media_bytes: [] } } },
    metrics: { device: columns(), handles: { 0: columns() }, host_bytes_per_second: [], media_bytes_per_second: [] },
  };
  const one = (waf) => ({ cumulative: [2], instantaneous: [waf], ...(waf === null ? { gc_only: [0] } : {}) });
  const state = (seconds, host, waf = 2) => ({
    seconds, counters: { host_bytes: host, media_bytes: 2 * host }, live: {},
    handles: { 0: { host_bytes: host, media_bytes: 2 * host }, 1: { host_bytes: 0, media_bytes: 0 } },
    metrics: { added_share: 0.5, device: one(waf), handles: { 0: one(waf), 1: one(null) }, host_bytes_per_second: [10], media_bytes_per_second: [20] },
  });
  for (let i = 1; i <= 5; i += 1) assert.ok(addState(record, state(i, i * 10)));
  assert.ok(addState(record, state(6, 50, null)));
  assert.equal(record.timeline.host_bytes.at(-1), 50);
  assert.equal(record.timeline.handles[1], undefined);
  assert.deepEqual(record.metrics.device.instantaneous, [2, 2, 2, 2, 2, null]);
  assert.deepEqual(record.metrics.device.gc_only, [5]);
  assert.deepEqual(record.metrics.host_bytes_per_second, new Array(6).fill(10));
  assert.equal(record.summary.waf, 2);
  // A repeated state is one point; counters that step back are not appended.
  assert.ok(addState(record, state(6, 50)));
  assert.equal(addState(record, state(7, 5)), false);
  assert.equal(record.timeline.seconds.length, 6);
});
