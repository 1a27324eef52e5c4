// Accessibility: axe-core finds nothing (WCAG 2.2 AA and its best practices), and nothing is hidden on narrow screens.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { close, folder, here, measured, open, report, simulated, simulatedOf, wafer } from "./browser.mjs";

const axe = readFileSync(createRequire(join(process.env.WAFER_WEB_TOOLS, "here.js")).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Returns axe's findings as lines. */
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate((values) => globalThis.axe.run(document, { runOnly: { type: "tag", values } }), TAGS);
  assert.ok(found.passes.length > 20, `${found.passes.length} rules`);
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")}: ${node.failureSummary}`));
}

/** Checks a page in every width and theme. */
async function everywhere(url, options = {}) {
  for (const width of [1440, 800, 390]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, done } = await open(url, { colorScheme, viewport: { width, height: 900 }, ...options });
      assert.deepEqual(await violations(page), [], `${width} px, ${colorScheme}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${width} px`);
      await done();
    }
  }
}

describe("accessibility of reports", () => {
  let untimed;
  let timed;
  before(() => {
    const fdp = simulated("access", "--attribution").record;
    const nofdp = simulated("access-nofdp", "--set", "fdp=false").record;
    nofdp.name = "conventional";
    untimed = report("access", [fdp, nofdp]);
    timed = report("access-timed", [simulatedOf("timed.toml", "access-timed", "--time").record]);
  });
  after(close);

  test("a report of two runs", () => everywhere(untimed));
  test("a report of a run with a clock", () => everywhere(timed));

  test("a report of a sweep", () => everywhere(report("access-sweep", Array.from({ length: 30 }, (_, i) => {
    const host = [1e9, 2e9, 3e9];
    const record = measured(`run ${i}`, [1, 2, 3], host, host.map((h) => Math.round(h * (1 + i / 10))));
    record.provenance.config = { overprovisioning: (i % 6) / 100, handles: 1 + Math.floor(i / 6) };
    return record;
  }))));

  test("columns beyond the edge are announced, and words are not broken", async () => {
    for (const width of [800, 390]) {
      const { page, done } = await open(untimed, { viewport: { width, height: 900 } });
      const tables = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((node) => node.getClientRects().length).map((node) => ({
        name: node.querySelector("caption").textContent, beyond: node.scrollWidth > node.clientWidth + 1,
        told: getComputedStyle(node.parentElement.parentElement.querySelector(".more")).display !== "none",
      })));
      assert.ok(tables.length >= 5);
      for (const { name, beyond, told } of tables) assert.equal(told, beyond, `${name} at ${width} px`);
      if (width === 800) assert.deepEqual(tables.filter((t) => t.beyond).map((t) => t.name), [], "all columns fit 800 px");
      else assert.ok(tables.some((t) => t.beyond), "a phone has less room than the table of runs");
      // The first column stays when a row is scrolled, and the edge fades where there is more.
      const kept = await page.evaluate(() => [...document.querySelectorAll(".edge.beyond .scroll")].map((node) => {
        const head = node.querySelector("tbody th");
        const before = head.getBoundingClientRect().left;
        node.scrollLeft = 1e6;
        return Math.abs(head.getBoundingClientRect().left - before);
      }));
      assert.equal(kept.length, tables.filter((t) => t.beyond).length);
      assert.ok(kept.every((moved) => moved < 1), kept.join());
      if (kept.length) await page.waitForFunction(() => !document.querySelector(".edge.beyond"));
      // No word of a cell breaks.
      const broken = await page.evaluate(() => [...document.querySelectorAll("#runs td, #runs th, #handles td, #handles th")].flatMap((cell) => {
        const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        const found = [];
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          for (const { 0: word, index } of node.data.matchAll(/[a-z]+/gi)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            if (range.getClientRects().length > 1) found.push(word);
          }
        }
        return found;
      }));
      assert.deepEqual(broken, [], `${width} px`);
      await done();
    }
  });
});

describe("accessibility of the live page", () => {
  let child;
  let url;
  before(async () => {
    child = spawn(wafer, ["run", join(here, "device.toml"), "--volume", "100000x", "--json", join(folder, "access-live.json"), "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
    let told = "";
    url = await new Promise((found, failed) => {
      child.stderr.on("data", (data) => {
        told += data;
        const match = /live page: (\S+)/.exec(told);
        if (match) found(match[1]);
      });
      child.on("exit", () => failed(new Error(`wafer ended: ${told}`)));
    });
  });
  after(async () => {
    const ended = new Promise((done) => { child.on("exit", done); });
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 3000).unref();
    await ended;
    await close();
  });

  test("a run that is going on", () => everywhere(url, { ready: () => globalThis.wafer?.source.record?.timeline.host_bytes.length > 3 }));
});
