/** What an element may hold: elements, text, or nothing. */
export type Child = Node | string | number | undefined | false;

/** Attributes by name; `true` is an attribute without a value, `false` and `undefined` leave it out. A function listens. */
type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>;

/**
 * Makes an element. Text stays text: the console has no way to make HTML of a string.
 * @param attributes `onclick` and the like take a function, which listens for that event.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...shownChildren(children));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same of SVG. */
export function svgElement<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, name);
  setAttributes(made, attributes);
  made.append(...shownChildren(children));
  return made;
}

/** Puts children in the place of those that are there. */
export function fill(parent: Element, ...children: readonly Child[]): void {
  parent.replaceChildren(...shownChildren(children));
}

function setAttributes(made: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice("on".length), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, String(value));
  }
}

function shownChildren(children: readonly Child[]): (Node | string)[] {
  return children
    .filter((child) => child !== undefined && child !== false)
    .map((child) => (typeof child === "number" ? String(child) : child));
}
