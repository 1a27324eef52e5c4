// The attribution matrix: whose writes made GC move whose data.

import { el, scrolled, section, show, svg } from "./dom.js";
import { bytes, percent } from "./format.js";
import { css, page, share, textOn } from "./colours.js";
import { exporters } from "./exporting.js";
import { named } from "./run.js";

function valid(a) {
  return a && Array.isArray(a.handles) && Array.isArray(a.relocated_bytes)
    && a.relocated_bytes.length === a.handles.length
    && a.relocated_bytes.every((row) => Array.isArray(row) && row.length === a.handles.length);
}

export function matrixPanel(state) {
  const body = el("div", {});
  const rows = () => {
    const { handles, relocated_bytes: cells } = state.runs[state.selected].attribution;
    return [["caused by", ...handles.map((h) => `moved bytes of ${named(h)}`)], ...cells.map((row, i) => [named(handles[i]), ...row])];
  };
  const element = section("matrix", "Attribution", exporters("attribution", () => picture(state.runs[state.selected].attribution), rows), body);
  const update = () => {
    const a = state.runs[state.selected]?.attribution;
    element.hidden = !valid(a);
    if (element.hidden) return;
    const all = Math.max(1, a.relocated_bytes.flat().reduce((sum, value) => sum + value, 0));
    const most = Math.max(1, ...a.relocated_bytes.flat());
    const cell = (value) => {
      const back = share(value / most);
      const node = el("td", { class: "number", title: percent(value / all) }, bytes(value));
      node.style.backgroundColor = css(back);
      node.style.color = textOn(back);
      return node;
    };
    show(body, scrolled("Attribution matrix",
      el("table", { class: "matrix" },
        el("caption", {}, "Row: whose writes made the pages around it invalid. Column: whose data GC then had to move."),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "caused by"), a.handles.map((h) => el("th", { scope: "col", class: "number" }, `data of ${named(h)}`)))),
        el("tbody", {}, a.relocated_bytes.map((row, i) =>
          el("tr", {}, el("th", { scope: "row" }, named(a.handles[i])), row.map(cell)))))));
  };
  return { element, update };
}

/** Returns the matrix as SVG. */
function picture({ handles, relocated_bytes: cells }) {
  const size = 84;
  const most = Math.max(1, ...cells.flat());
  const width = 110 + size * handles.length;
  const height = 60 + 40 * handles.length;
  const { text, back } = page();
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", "font-size": 12 },
    svg("rect", { width, height, fill: back }), svg("text", { x: 8, y: 20, fill: text }, "rows: caused by, columns: data moved"));
  handles.forEach((h, i) => {
    root.append(svg("text", { x: 110 + size * (i + 0.5), y: 44, "text-anchor": "middle", fill: text }, named(h)),
      svg("text", { x: 8, y: 60 + 40 * i + 24, fill: text }, named(h)));
    cells[i].forEach((value, j) => {
      const fill = share(value / most);
      root.append(svg("rect", { x: 110 + size * j, y: 54 + 40 * i, width: size - 2, height: 38, fill: css(fill) }),
        svg("text", { x: 110 + size * (j + 0.5), y: 54 + 40 * i + 24, "text-anchor": "middle", fill: textOn(fill) }, bytes(value)));
    });
  });
  return root;
}
