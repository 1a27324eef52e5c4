// Reports of runs with a clock in Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { close, close_to, open, report, series, simulated, simulatedOf } from "./browser.mjs";

describe("a report of runs with a clock", () => {
  let records;
  let url;
  before(() => {
    records = ["smooth", "burst"].map((pacing) =>
      simulatedOf("timed.toml", pacing, "--time", "--set", `timing.gc_pacing=${pacing}`).record);
    records.forEach((record, i) => { record.name = ["smooth", "burst"][i]; });
    url = report("timed", records);
  });
  after(close);

  test("percentile curves and tables show the numbers of the records", async () => {
    const { page, done } = await open(url);
    const lines = await series(page, "latency-chart");
    assert.deepEqual(lines.map((l) => l.label), ["smooth, reads", "smooth, writes", "burst, reads", "burst, writes"]);
    const { percentiles_us: percentiles, count } = records[0].time.read;
    const kept = Object.entries(percentiles).map(([p, us]) => [Number(p), us]).filter(([p]) => count * (1 - p / 100) >= 1)
      .sort((a, b) => a[0] - b[0]);
    close_to(lines[0].x, kept.map(([p]) => -Math.log10(1 - p / 100)), "percentiles");
    close_to(lines[0].y, kept.map(([, us]) => Math.log10(us)), "latencies");
    const table = await page.locator("#latency table").innerText();
    assert.ok(table.includes(`${records[0].time.read.mean_us.toFixed(records[0].time.read.mean_us < 99.95 ? 1 : 0)} µs`), table);
    assert.equal(await page.locator("#latency tbody tr").count(), 4);
    await done();
  });

  test("the readout names the sample that it shows, and the crosshair stands on it", async () => {
    const { page, done } = await open(url);
    await page.locator("#latency-chart").scrollIntoViewIfNeeded();
    const box = await page.locator("#latency-chart .u-over").boundingBox();
    const right = await page.evaluate(() => globalThis.wafer.charts.get("latency-chart").visible()[1]);
    // p93.7 lies between p90 and p99.
    await page.mouse.move(box.x + box.width * (1.2 / right), box.y + 60);
    assert.equal(await page.locator("#latency-chart .at").innerText(), "p90");
    assert.doesNotMatch(await page.locator("#latency-chart .entries").innerText(), / at /);
    const line = await page.locator("#latency-chart .u-cursor-x").boundingBox();
    assert.ok(Math.abs(line.x - box.x - box.width / right) < 2, `${line.x} for ${box.x + box.width / right}`);
    // A key moves to the next sample, however far away.
    await page.locator("#latency-chart").focus();
    await page.keyboard.press("ArrowRight");
    const next = await page.evaluate(() => 100 * (1 - 10 ** -globalThis.wafer.charts.get("latency-chart").place));
    assert.ok(records[0].time.read.percentiles_us[String(Number(next.toFixed(4)))] > 0, `${next}`);
    assert.ok(next > 90.001);
    await done();
  });

  test("a percentile that no request lies beyond is none, in tables as in the chart", async () => {
    const record = structuredClone(records[0]);
    record.time.read.count = 4000;
    const { page, done } = await open(report("few", [record]));
    assert.equal(await page.locator("#latency tbody tr").first().locator("td").nth(7).innerText(), "–");
    const bands = await page.locator("#dies tbody th").allInnerTexts();
    assert.ok(bands.includes("reads, p99 to p99.9") && !bands.some((name) => name.startsWith("reads, p99.99 to")), bands.join());
    await done();
  });

  test("bandwidth over time is that of each direction of the selected run", async () => {
    const { page, done } = await open(url);
    for (const [at, record] of records.entries()) {
      await page.locator("#selected").selectOption(String(at));
      const lines = await series(page, "bandwidth-chart");
      assert.deepEqual(lines.map((line) => line.label), ["reads", "writes"]);
      for (const [line, key] of [[lines[0], "read"], [lines[1], "write"]]) {
        close_to(line.x, record.time.series.seconds, "seconds");
        close_to(line.y, record.time.series[key].bytes_per_second, key);
      }
    }
    await done();
  });

  test("latency over time and the use of the dies follow the selected run", async () => {
    const { page, done } = await open(url);
    const over = async () => (await series(page, "latency-time-chart")).find((l) => l.label === "reads, mean").y;
    const expected = (record) => record.time.series.read.mean_us.map((us) => (us === null ? null : Math.log10(us)));
    close_to(await over(), expected(records[0]), "smooth");
    await page.locator("#selected").selectOption("1");
    close_to(await over(), expected(records[1]), "burst");
    const bar = page.locator("#dies .bar").nth(1);
    const share = records[1].time.dies.host_program;
    assert.match(await bar.getAttribute("aria-label"), new RegExp(`host program ${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}\u00a0%`));
    const parts = await bar.locator("span").evaluateAll((all) => all.map((one) => Number.parseFloat(one.style.width)));
    assert.ok(Math.abs(parts.reduce((sum, width) => sum + width, 0) - 100) < 0.1, parts.join(" "));
    assert.match(await page.locator("#dies").innerText(), /burst: requests/);
    await done();
  });

  test("ticks are round numbers, and a series that ends with a gap shows its last value", async () => {
    const record = structuredClone(records[0]);
    record.time.series.write.mean_us.fill(null, -20);
    record.time.series.write.p99_us.fill(null, -1);
    record.time.series.seconds[record.time.series.seconds.length - 2] = record.time.series.seconds.at(-1) - 1e-6;
    const { page, done } = await open(report("gap", [record]));
    const ticks = await page.evaluate(() => ["latency-chart", "latency-time-chart"].flatMap((id) => {
      const chart = globalThis.wafer.charts.get(id);
      return chart.plot.axes[1]._values.filter(Boolean);
    }));
    assert.ok(ticks.length > 4);
    for (const tick of ticks) assert.match(tick, /^\d+ (µs|ms|s)$/);
    const entry = (name) => page.locator("#latency-time-chart .entry", { hasText: name }).innerText();
    assert.match(await entry("writes, mean"), /writes, mean [\d.]+ µs at \d+ ms/);
    // The readout does not repeat its position.
    assert.match(await entry("writes, p99"), /writes, p99 [\d.]+ µs$/);
    await done();
  });

  test("a run without a clock has no such charts", async () => {
    const { page, done } = await open(report("untimed", [simulated("untimed").record]));
    for (const id of ["latency", "latency-time", "dies"]) assert.equal(await page.locator(`#${id}`).isVisible(), false, id);
    await done();
  });
});
