// The report: records embedded in the page.

import { button, el, scrolled, show } from "./dom.js";
import { unpack } from "./data.js";
import { save } from "./exporting.js";
import { charts } from "./chart.js";
import { keepAddress } from "./report_address.js";
import { makeView } from "./view.js";

async function main() {
  const root = document.getElementById("app");
  try {
    const page = await unpack(document.getElementById("data").textContent);
    const records = page.runs.map((run) => run.record);
    const first = records[0].provenance;
    const subtitle = el("p", { class: "subtitle" },
      `${records.length} ${records.length === 1 ? "run" : "runs"}, wafer ${first.version ?? ""}, started ${first.started ?? "–"}`);
    const keep = button("Records", "Save the result records as JSON", () =>
      save("records.json", "application/json", JSON.stringify(records.length === 1 ? records[0] : records)));
    // Sections that the page already contains, such as the table of a reproduction, stay after the heading.
    const further = root.querySelectorAll(":scope > section");
    const view = makeView(root, root.dataset.title, subtitle, [keep]);
    for (const section of further) {
      for (const box of section.querySelectorAll(".scroll")) box.replaceWith(scrolled(box.querySelector("caption").textContent, box.firstElementChild));
    }
    root.querySelector("header").after(...further);
    view.setRuns(page);
    keepAddress(root, view, charts.get("waf-chart"));
    globalThis.wafer = { view, charts, records };
  } catch (error) {
    show(root, el("p", { class: "error", role: "alert" }, `The report cannot be shown: ${error.message}`));
    throw error;
  }
}

main();
