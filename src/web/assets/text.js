"use strict";
/* text.js: elements and texts. The files here are one script (SCRIPTS in the
 * Makefile), the page of `monkeys report` and `monkeys serve`. Its data is in the
 * page (a report) or comes from /api (docs/PAGE.md). What models and tasks say is
 * hostile: every text goes through put(), which makes text nodes and shows
 * control characters as escapes. No data ever becomes HTML, a style or a URL. */

const HIDDEN =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
const code_of = (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
/* For attributes and the title. */
const plain = (text) => String(text).replace(HIDDEN, (c) => `‹${code_of(c)}›`);

function put(node, text) {
  let last = 0;
  text = String(text);
  for (const m of text.matchAll(HIDDEN)) {
    if (m.index > last) node.append(document.createTextNode(text.slice(last, m.index)));
    const mark = document.createElement("span");
    mark.className = "esc";
    mark.textContent = code_of(m[0]);
    node.append(mark);
    last = m.index + m[0].length;
  }
  if (last < text.length) node.append(document.createTextNode(text.slice(last)));
  return node;
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on"))
      node.addEventListener(name.slice(2), value);
    else
      node.setAttribute(name, value === true ? "" : plain(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node)
      node.append(child);
    else
      put(node, child);
  }
  return node;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const $ = (id) => document.getElementById(id);

const count = (n, one, many) => `${number(n)} ${n === 1 ? one : many || one + "s"}`;
const number = (n) => Number(n).toLocaleString("en-US");
const usd = (micro) => "$" + (micro / 1e6).toFixed(micro && micro < 1e6 ? 4 : 2);
const percent = (x) => `${Math.round(100 * x)} %`;
const times = (x) => (x === null ? "–" : (x >= 10 ? x.toFixed(0) : x.toFixed(2)) + "×");

function short(n) {
  for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (n >= size) return (n / size).toFixed(n / size < 10 ? 1 : 0).replace(/\.0$/, "") + unit;
  return Number.isInteger(n) ? String(n) : n.toFixed(2);
}

/* A wide table without links in it, which a keyboard could not scroll otherwise. */
const scroll_box = (label, table) =>
    h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label}, table);
const doubt_mark = () =>
    h("span", {class: "doubt", role: "img", "aria-label": "hard to believe"}, " ⚠");

/* The body of a table and, where it is long, a button that shows the rest. */
const ROWS_FIRST = 300;
function rows_of(items, row) {
  const body = h("tbody", {}, items.slice(0, ROWS_FIRST).map(row));
  const more = items.length > ROWS_FIRST &&
      h("button", {
                 type: "button",
                 onclick: (e) => {
                   e.target.remove();
                   body.append(...items.slice(ROWS_FIRST).map(row));
                 }
               },
        `Show all ${number(items.length)}`);
  return [body, more];
}

/* A table with a row for each item, and what shows the rest of a long one. A column is
 * [heading, class, what its cell shows of an item]; of class "row" it names the row. What is
 * false is no column. */
function table_of(columns, items, {caption, look, current} = {}) {
  const there = columns.filter(Boolean);
  const head = (kind) => kind.split(" ").filter((x) => x === "n" || x === "wide").join(" ");
  const row = (x, i) =>
      h("tr", {"aria-current": current && current(x) ? "true" : null},
        there.map(
            ([, kind, show]) => kind === "row" ? h("th", {scope: "row"}, show(x, i)) :
                                                 h("td", {class: kind || null}, show(x, i))));
  const [body, more] = rows_of(items, row);
  return [
    h("table", {class: look}, caption && h("caption", {}, caption),
      h("thead", {},
        h("tr", {},
          there.map(([name, kind]) => h("th", {scope: "col", class: head(kind) || null}, name)))),
      body),
    more
  ];
}

const bytes = (n) => short(n).replace(/[TGMk]?$/, (unit) => ` ${unit}B`);

function duration(seconds) {
  const t = Math.round(seconds);
  if (t < 90) return `${t} s`;
  if (t < 5400) return `${Math.round(t / 60)} min`;
  return `${Math.floor(t / 3600)} h ${Math.floor((t % 3600) / 60)} min`;
}
