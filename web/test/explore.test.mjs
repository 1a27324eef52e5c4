// The page of `wafer explore` in Chromium: its device compared with the binary, and its controls.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { close, folder, open, run, series, wafer } from "./browser.mjs";

const { ofAddress, toAddress } = await import(new URL("../js/explore_address.js", import.meta.url));

/** Time limit of a run on a busy machine, in milliseconds. */
const LONG = 120000;
const path = join(folder, "explore.html");
const url = `file://${path}`;

/** A stream with defaults. */
const stream = (name, pattern, more) => ({ name, pattern, skew: 0, offset: 0, size: 100, bs: "4k", handle: 0, ...more });
const small = { capacity: "256MiB", "reclaim_unit.size": "1MiB", overprovisioning: 0.25 };
const settingsOf = (set, streams, more) => ({
  device: "warp", set: { ...small, ...set }, workload: { streams }, volume: "5x", seed: 3, attribution: false, ...more,
});
const two = [stream("a", "uniform", { size: 60, share: 0.3 }), stream("b", "sequential", { offset: 60, size: 40, bs: "64k", handle: 1, share: 0.7 })];

/** Opens the page with these settings in its address and waits for the end of the run. */
async function finished(settings, options) {
  const opened = await open(`${url}#${toAddress(settings)}`, options);
  await ended(opened.page);
  return opened;
}

/**
 * Waits for the end of a run and for the frame that draws it, which comes after the state has changed. A refusal of
 * earlier settings stays on the page until a change has been checked.
 */
async function ended(page) {
  await page.waitForFunction(() => globalThis.wafer.source.state === "done", null, { timeout: LONG }).catch(async (error) => {
    throw new Error(`${error.message}\n${await page.locator("#refusal").innerText()}`);
  });
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
}

const recordOf = (page) => page.evaluate(() => JSON.parse(JSON.stringify(globalThis.wafer.source.run.record)));

/** Returns the text that a button copies. */
async function copied(page, what) {
  await page.locator(`#copy-${what}`).click();
  return page.locator("#copied").inputValue();
}

/** Returns the binary's record of the page's experiment. */
async function byBinary(page, name) {
  const experiment = join(folder, `${name}.toml`);
  const result = join(folder, `${name}.json`);
  writeFileSync(experiment, await copied(page, "experiment"));
  run("run", experiment, "--json", result);
  return JSON.parse(readFileSync(result, "utf8"));
}

/** Asserts that two records are of the same run: equal except for where and when they were made. */
function assertSame(page, binary, what) {
  assert.equal(page.digest, binary.digest, what);
  for (const key of ["schema", "summary", "timeline", "metrics", "findings", "reclaim_units", "attribution", "application"]) {
    assert.deepEqual(page[key], binary[key], `${what}: ${key}`);
  }
  for (const key of ["config", "geometry", "seed", "version"]) assert.deepEqual(page.provenance[key], binary.provenance[key], `${what}: ${key}`);
}

describe("the page with the device inside", () => {
  before(() => run("explore", "-o", path));
  after(close);

  const cases = {
    "FIFO, one handle": settingsOf({ "gc.policy": "fifo", handles: 1 }, [stream("one", "zipf", { skew: 1.2 })]),
    "cost-benefit, persistently isolated": settingsOf({ "gc.policy": "cost-benefit", isolation: "persistently", handles: 3 }, two),
    "d-choices, whose choice is random": settingsOf({ "gc.policy": "d-choices", overprovisioning: 0.12 }, two, { seed: 77 }),
    "adaptive, with attribution": settingsOf({ "gc.policy": "adaptive", handles: 4 }, [...two, stream("c", "hot", { skew: 90, handle: 2, share: 0.4 })], { attribution: true, precondition: "sequential" }),
    "one destination for all, small units": settingsOf({ "gc.destination": "shared", "reclaim_unit.size": "2MiB", "gc.background_free": 0 }, two),
    "SepBIT without FDP": settingsOf({ fdp: false, "gc.separation": "sepbit", overprovisioning: 0.4 }, [stream("one", "hot", { skew: 80 })], { samples: 333 }),
    "a closed loop and a random fill": settingsOf({ page: "8KiB", "timing.plane_page": "8KiB", "reclaim_unit.size": "2MiB" }, two.map(({ share, ...rest }) => ({ ...rest, bs: "128k" })), { precondition: "sequential+random:0.5" }),
    "an application model": { ...settingsOf({ capacity: "2GiB", "reclaim_unit.size": "4MiB" }, []), workload: { toml: '[workload]\nmodel = "f2fs"\ncheckpoint = "8MiB"\nhandles = [0, 1, 2, 3, 4, 5, 6]\n' } },
  };
  for (const [name, settings] of Object.entries(cases)) {
    test(`gives the result of the binary bit by bit: ${name}`, { timeout: 2 * LONG }, async () => {
      const { page, done } = await finished(settings);
      const record = await recordOf(page);
      assert.ok(record.summary.waf > 1.01, `WAF ${record.summary.waf}: nothing was collected`);
      assertSame(record, await byBinary(page, `same-${Object.keys(cases).indexOf(name)}`), name);
      await done();
    });
  }

  test("the copied command makes the same run in a shell", { timeout: LONG }, async () => {
    for (const [i, settings] of [cases["adaptive, with attribution"], cases["an application model"]].entries()) {
      const { page, done } = await finished(settings);
      const command = await copied(page, "command");
      const result = join(folder, `command-${i}.json`);
      const line = command.replace(/^wafer run/, `"$WAFER" --quiet run --json ${result}`);
      assert.notEqual(line, command);
      execFileSync("sh", ["-c", line], { env: { ...process.env, WAFER: wafer } });
      assert.equal((await recordOf(page)).digest, JSON.parse(readFileSync(result, "utf8")).digest, command);
      await done();
    }
  });

  test("the configuration is that of the run", { timeout: LONG }, async () => {
    const { page, done } = await finished(settingsOf({ "gc.policy": "fifo" }, two));
    assert.equal(await page.locator("#configuration tr", { has: page.getByRole("rowheader", { name: "gc.policy", exact: true }) }).locator("td").first().innerText(), "fifo");
    assert.equal(await page.locator("#only-differences").isVisible(), false);
    await done();
  });

  test("an address keeps all settings, and a changed control changes it", { timeout: LONG }, async () => {
    const settings = cases["d-choices, whose choice is random"];
    for (const each of Object.values(cases)) assert.deepEqual(ofAddress(`#${toAddress(each)}`), each);
    const { page, done } = await finished(settings);
    assert.deepEqual(await page.evaluate(() => globalThis.wafer.controls.settings), settings);
    await page.locator("#set-isolation").selectOption("persistently");
    await page.waitForFunction(() => location.hash.includes("isolation=persistently"));
    await ended(page);
    const changed = await page.evaluate(() => [location.hash, globalThis.wafer.controls.settings]);
    assert.deepEqual(ofAddress(changed[0]), { ...settings, set: { ...settings.set, isolation: "persistently" } });
    assert.deepEqual(ofAddress(changed[0]), changed[1]);
    // The curve of the previous run stays, labelled with the difference.
    const lines = await series(page, "waf-chart");
    assert.deepEqual(lines.map(({ label }) => label), ["this run", "earlier: isolation = initially"]);
    assert.notDeepEqual(lines[0].y, lines[1].y);
    await done();
    const other = await finished(changed[1]);
    assert.equal((await recordOf(other.page)).provenance.config.isolation, "persistently");
    await other.done();
  });

  test("settings that cannot be are refused at their control, and the page goes on", { timeout: LONG }, async () => {
    const { page, done } = await finished(cases["FIFO, one handle"]);
    const refused = async (control, value, key, reason) => {
      const before = await page.locator(control).inputValue();
      await page.locator(control).fill(value);
      await page.locator(control).press("Enter");
      await page.waitForFunction(() => globalThis.wafer.source.state === "refused");
      assert.match(await page.locator("#refusal").innerText(), reason);
      assert.match(await page.locator(`[id="wrong-${key}"]`).innerText(), /\S/);
      // What would be copied or run are other settings than those shown.
      for (const id of ["copy-experiment", "copy-command", "restart"]) assert.ok(await page.locator(`#${id}`).isDisabled(), id);
      await page.locator(control).fill(before);
      await page.locator(control).press("Enter");
      await ended(page);
      assert.ok(await page.locator("#refusal").isHidden());
      assert.ok(await page.locator("#copy-experiment").isEnabled());
    };
    await refused("#volume", "many", "volume", /^explore\.toml:2: volume: /);
    await refused("#seed", "x", "seed", /seed/);
    // JavaScript would round it.
    await refused("#seed", "9007199254740993", "seed", /at most 9007199254740991/);
    await page.locator("#stream-0-offset").press("ArrowUp");
    await page.waitForFunction(() => globalThis.wafer.controls.settings.workload.streams[0].offset === 1);
    await ended(page);
    await refused("#stream-0-handle", "9", "workload", /placement|handle|fdp_pli/i);
    await refused("#stream-0-size", "400", "workload", /size/);
    await page.locator("#set-isolation").selectOption("persistently");
    await page.locator("[id='set-gc.destination']").selectOption("shared");
    await page.waitForFunction(() => globalThis.wafer.source.state === "refused");
    assert.match(await page.locator("[id='wrong-gc.destination']").innerText(), /persistently/);
    await done();
  });

  test("a bad address leaves a page that works", { timeout: LONG }, async () => {
    for (const [hash, reason] of [["#seed=1", /address: give one of/], ["#stream=a~b", /expected 8 parts/], ["#fio=x&gc.polcy=greedy&volume=1x", /./]]) {
      const { page, done } = await open(url + hash, { ready: () => globalThis.wafer && !document.getElementById("refusal").hidden });
      assert.match(await page.locator("#refusal").innerText(), reason);
      await page.evaluate((settings) => globalThis.wafer.apply(settings), cases["FIFO, one handle"]);
      await ended(page);
      await done();
    }
  });

  test("a run can be held and goes on to the same result", { timeout: LONG }, async () => {
    const settings = settingsOf({ capacity: "2GiB", "reclaim_unit.size": "4MiB" }, [stream("one", "uniform")], { volume: "8x" });
    const { page, done } = await finished(cases["FIFO, one handle"]);
    // Slow from the start: on a busy machine it must not end before it is paused.
    await page.locator("#speed").selectOption("0.0625");
    await page.evaluate((settings) => globalThis.wafer.apply(settings), settings);
    await page.waitForFunction(() => globalThis.wafer.source.state === "running" && globalThis.wafer.source.run?.host.length > 1);
    await page.locator("#pause").click();
    // A record on its way still arrives.
    const at = await page.evaluate(async () => {
      const last = () => globalThis.wafer.source.run.host.at(-1);
      for (;;) {
        const before = last();
        await new Promise((later) => setTimeout(later, 1000));
        if (last() === before) return before;
      }
    });
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => globalThis.wafer.source.run.host.at(-1)), at);
    assert.equal(await page.locator("#now-state").innerText(), "Paused");
    await page.locator("#speed").selectOption("1");
    await page.locator("#pause").click();
    await ended(page);
    assertSame(await recordOf(page), await byBinary(page, "held"), "held");
    // A finished run cannot be paused, and nothing was just collected.
    assert.equal(await page.locator("#pause").isVisible(), false);
    await page.waitForFunction(() => document.querySelector(".collected").textContent === "");
    await done();
  });

  test("every example runs, and has its effect", { timeout: 4 * LONG }, async () => {
    const { page, done } = await open(url);
    const presets = await page.locator("#preset option").allInnerTexts();
    const found = {};
    for (const name of presets.slice(1)) {
      await page.locator("#preset").selectOption(name);
      await ended(page);
      found[name] = (await recordOf(page)).findings.map(({ title }) => title).join("; ");
      assert.match(await page.locator("#about").innerText(), /\S/);
    }
    // The page finds its example again in its address.
    await page.reload();
    await page.waitForFunction(() => globalThis.wafer?.source.run);
    assert.equal(await page.locator("h1").innerText(), presets.at(-1));
    assert.match(await page.locator("#about").innerText(), /\S/);
    assert.match(found["Noisy RUH"], /Noisy RUH: handle 2/);
    assert.match(found["Save Sequential"], /Save Sequential: handle 0/);
    assert.equal(presets.length, 6);
    await done();
  });

  test("an experiment file opens as settings, and one that needs files is refused", { timeout: LONG }, async () => {
    const { page, done } = await finished(cases["FIFO, one handle"]);
    const text = await copied(page, "experiment");
    await page.locator("#open").setInputFiles({ name: "e.toml", mimeType: "text/plain", buffer: Buffer.from(text.replace("seed = 3", "seed = 4")) });
    await page.waitForFunction(() => globalThis.wafer.controls.settings.seed === 4);
    await ended(page);
    assert.deepEqual(await page.evaluate(() => globalThis.wafer.controls.settings), { ...cases["FIFO, one handle"], seed: 4 });
    await page.locator("#open").setInputFiles({ name: "e.toml", mimeType: "text/plain", buffer: Buffer.from(`time = true\n${text}`) });
    await page.waitForFunction(() => !document.getElementById("refusal").hidden);
    assert.match(await page.locator("#refusal").innerText(), /explore\.toml:1: time: a page has no clock/);
    await done();
  });

  test("a job file that is no table of streams is edited as text", { timeout: LONG }, async () => {
    const { page, done } = await finished(cases["d-choices, whose choice is random"]);
    const before = (await recordOf(page)).digest;
    await page.getByRole("button", { name: "Edit as fio jobs" }).click();
    await page.locator("#workload-text").waitFor();
    await ended(page);
    assert.equal((await recordOf(page)).digest, before);
    const text = page.locator("#workload-text");
    await text.fill((await text.inputValue()).replace("bs=4k", "bs=fourk"));
    await text.blur();
    await page.waitForFunction(() => globalThis.wafer.source.state === "refused");
    assert.match(await page.locator("#wrong-workload").innerText(), /bs/);
    await done();
  });

  test("a large drive is fast", { timeout: LONG }, async () => {
    const { page, done } = await open(url);
    await ended(page);
    const { performance, summary } = await recordOf(page);
    console.log(`28 GiB, four times its capacity: ${performance.wall_seconds.toFixed(1)} s in Chromium, WAF ${summary.waf.toFixed(3)}; page ${(readFileSync(path).length / 1e6).toFixed(2)} MB`);
    assert.equal(summary.host_bytes, 4 * 28 * 2 ** 30);
    assert.ok(performance.wall_seconds < 60);
    await done();
  });

  test("the page works without a pointer, in light, dark and narrow, and passes axe", { timeout: 2 * LONG }, async () => {
    const axe = readFileSync(createRequire(join(process.env.WAFER_WEB_TOOLS, "here.js")).resolve("axe-core/axe.min.js"), "utf8");
    for (const [colorScheme, width, height] of [["light", 1440, 900], ["dark", 1440, 900], ["light", 390, 844], ["dark", 800, 1000]]) {
      const { page, done } = await finished(cases["adaptive, with attribution"], { colorScheme, viewport: { width, height } });
      await page.evaluate(() => document.querySelectorAll("#settings details").forEach((group) => { group.open = true; }));
      // Evaluated over the test's connection, to which the page's content security policy does not apply.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`), [], `${colorScheme} ${width}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px: nothing beyond the edge`);
      await page.screenshot({ path: join(process.env.WAFER_SHOTS ?? folder, `explore-${colorScheme}-${width}.png`) });
      await done();
    }
    const { page, done } = await finished(cases["FIFO, one handle"]);
    await page.locator("#set-handles").focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => globalThis.wafer.controls.settings.set.handles === 2);
    assert.equal(await page.evaluate(() => document.activeElement.id), "set-handles");
    await done();
  });
});
