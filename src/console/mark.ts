import { svgElement } from "./dom.ts";

/** Drawn, because not every font has them. */
const MARKS = {
  open: "M8 2.5a5.5 5.5 0 1 0 .01 0z",
  half: "M8 2.5a5.5 5.5 0 1 0 .01 0zM8 5.2v2.8l2.2 1.6",
  tick: "M2.5 8.5l3.5 3.5 7-8",
  cross: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  dash: "M3 8h10",
} as const;

export type MarkName = keyof typeof MARKS;

/** A small mark beside a word that says the same; screen readers skip it. */
export function mark(name: MarkName): SVGElement {
  const attributes = { class: "mark", viewBox: "0 0 16 16", width: 13, height: 13, "aria-hidden": "true" };
  return svgElement("svg", attributes, svgElement("path", { d: MARKS[name] }));
}
