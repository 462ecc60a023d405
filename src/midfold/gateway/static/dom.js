// Elements made by hand: text only ever becomes a text node, so that nothing of a transcript can run.
const SVG = "http://www.w3.org/2000/svg";
const SAFE_LINK = /^(#|\/)/;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, does] of Object.entries(value)) node.addEventListener(event, does);
    else if (name.startsWith("on")) throw new Error("no inline handlers");
    else if (name === "href" && !SAFE_LINK.test(value)) throw new Error("only links of our own");
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

const whole = new Intl.NumberFormat("en");
const brief = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
export const number = (value) => (value === null || value === undefined ? "–" : whole.format(value));
export const many = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
export const compact = (value) => (value === null || value === undefined ? "–" : brief.format(value));
// Below a dollar with a tenth of a cent, so that small sums still add up.
export function dollars(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size > 0 && size < 0.0005) return `${value < 0 ? "−" : ""}<$0.001`;
  return `${value < 0 ? "−" : ""}$${size.toFixed(size > 0 && size < 1 ? 3 : 2)}`;
}
export const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`);

export function when(text) {
  if (!text) return "–";
  const at = new Date(text);
  const days = (Date.now() - at) / 86400000;
  const options = days < 1 ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short", year: days > 300 ? "numeric" : undefined };
  return el("time", { datetime: text, title: at.toLocaleString() }, at.toLocaleString("en", options));
}

export const empty = (title, words) => el("div", { class: "card empty" }, el("b", null, title), words);
export const link = (href, ...children) => el("a", { href }, ...children);
export const tag = (words, kind) => el("span", { class: `tag ${/^[a-z]+$/.test(kind ?? "") ? kind : ""}` }, words);
export const tile = (figure, words) => el("div", { class: "card tile" }, el("b", null, figure), el("span", { class: "dim small" }, words));

// On a phone each row stands as a block, and a figure has the words of its column before it.
export function named(head, row) {
  [...row.children].forEach((cell, index) => {
    cell.setAttribute("role", "cell");
    if (head[index][1]?.startsWith("num")) cell.dataset.column = head[index][0];
  });
  row.setAttribute("role", "row");
  return row;
}

export function table(head, rows, label) {
  return el("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", { role: "table", "aria-label": label },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head.map(([words, kind]) => el("th", { scope: "col", role: "columnheader", class: kind }, words)))),
    el("tbody", { role: "rowgroup" }, rows.map((row) => named(head, row)))));
}

// The first of many elements, and a button that brings the next ones into `box`.
export function inPages(box, elements, size) {
  const left = [...elements];
  const more = el("button", { class: "tiny", on: { click: next } });
  function next() {
    box.append(...left.splice(0, size));
    more.textContent = `Show ${number(Math.min(size, left.length))} more of ${number(left.length)}`;
    more.hidden = !left.length;
  }
  next();
  return more;
}
