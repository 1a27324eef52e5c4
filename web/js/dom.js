// Creates elements without HTML text, so that nothing in a record can become markup or script.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element. Attributes are set as text; `on*` takes a listener; children are nodes or text. */
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      node.addEventListener(name.slice(2), value);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Returns a text, such as a path, a list or a key, that breaks between its parts before it breaks inside one. */
export function parts(text) {
  return text.split(/(?<=[,/_+-]|[a-z]\.)(?=[^,/_+-])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

/** Replaces all children. */
export function show(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** Creates a table; columns are { name, number?, title?, sort? }, cells text, nodes or arrays of them. */
export function table(caption, columns, rows) {
  const head = columns.map((c) =>
    el("th", { scope: "col", class: c.number ? "number" : null, title: c.title, "aria-sort": c.sort }, c.name),
  );
  const body = rows.map((row) =>
    el("tr", { class: row.class ?? null },
      (row.cells ?? row).map((cell, i) =>
        i === 0
          ? el("th", { scope: "row" }, cell)
          : el("td", { class: columns[i].number ? "number" : null }, cell),
      )),
  );
  return scrolled(caption, el("table", { class: columns.length < 3 ? "few" : null }, el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

/** Wraps a table so that it scrolls if it is too wide, and shows that it does. */
export function scrolled(name, content) {
  const more = el("p", { class: "more", hidden: true }, "More columns to the right: scroll ", el("span", { "aria-hidden": "true" }, "→"));
  const box = el("div", { class: "scroll" }, content);
  const edge = el("div", { class: "edge" }, box);
  // A number cut off at the edge could be misread, so the edge fades.
  const fade = () => edge.classList.toggle("beyond", box.scrollWidth > box.clientWidth + box.scrollLeft + 1);
  box.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(() => {
    const beyond = box.scrollWidth > box.clientWidth + 1;
    more.hidden = !beyond;
    fade();
    // Only a scrolling table needs to be reachable with the keyboard.
    for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", `Table: ${name}`]]) {
      if (beyond) box.setAttribute(key, value);
      else box.removeAttribute(key);
    }
  }).observe(box);
  return el("div", {}, more, edge);
}

/** Creates a group of radio buttons; `choices` are [value, label]. */
export function choice(label, name, choices, chosen, change) {
  return el("fieldset", { class: "choice" }, el("legend", {}, label),
    choices.map(([value, text]) =>
      el("label", {},
        el("input", {
          type: "radio", name, value, checked: value === chosen,
          onchange: () => change(value),
        }),
        el("span", {}, text))));
}

/** Creates a button. */
export function button(text, title, press) {
  return el("button", { type: "button", title, onclick: press }, text);
}

/** Creates a section with a heading and, beside the heading, its controls. */
export function section(id, title, tools, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("div", { class: "head" }, el("h2", { id: `${id}-title` }, title), el("div", { class: "tools" }, tools)),
    ...children);
}
