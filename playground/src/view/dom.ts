// Elements.

type Child = Node | string | undefined;
type Attributes = Record<string, string | number | boolean | undefined>;

/** An element. An attribute that is false or undefined is left out, one that is true is empty. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** The element of the page with this id. */
export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element '${id}'`);
  return found as T;
}

let numbers = 0;

/** An id that no other element has. */
export function freshId(): string {
  numbers += 1;
  return `control-${numbers}`;
}

/** A table with a caption, a header row, and a header cell in each row. */
export function table(caption: string, header: string[], rows: (string | Node)[][]): HTMLTableElement {
  const head = make("tr", {}, ...header.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map((row) =>
    make("tr", {}, ...row.map((cell, at) => (at ? make("td", {}, cell) : make("th", { scope: "row" }, cell)))),
  );
  return make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body));
}
