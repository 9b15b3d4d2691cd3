/** What an element can contain: elements, text, or nothing. */
export type Child = Node | string | number | undefined | false;

/** Attributes by name. `true` is an attribute without a value; `false` and `undefined` omit it. A function becomes a listener. */
type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>;

/**
 * Creates an element. Text stays text: the console cannot turn a string into HTML.
 * @param attributes `onclick` and the like take a function, which becomes a listener for that event.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...presentChildren(children));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** Creates an SVG element in the same way. */
export function svgElement<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, name);
  setAttributes(made, attributes);
  made.append(...presentChildren(children));
  return made;
}

export function fill(parent: Element, ...children: readonly Child[]): void {
  parent.replaceChildren(...presentChildren(children));
}

function setAttributes(made: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice("on".length), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, String(value));
  }
}

function presentChildren(children: readonly Child[]): (Node | string)[] {
  return children
    .filter((child) => child !== undefined && child !== false)
    .map((child) => (typeof child === "number" ? String(child) : child));
}
