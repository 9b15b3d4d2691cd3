/** Small marks beside words and figures that say the same: screen readers skip them, and no meaning has only a colour. */
import type { VNode } from "preact";
import { html } from "./html.ts";
import { GRID, gridX } from "./path.ts";

/** Drawn, because not every font has them. */
const MARKS = {
  open: "M8 2.5a5.5 5.5 0 1 0 .01 0z",
  half: "M8 2.5a5.5 5.5 0 1 0 .01 0zM8 5.2v2.8l2.2 1.6",
  tick: "M2.5 8.5l3.5 3.5 7-8",
  cross: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  dash: "M3 8h10",
  dots: "M4 12h0M8 12h0M12 12h0",
} as const;

export type MarkName = keyof typeof MARKS;

export function mark(name: MarkName): VNode {
  return html`<svg class="mark" viewBox="0 0 16 16" width="13" height="13" aria-hidden="true"><path d=${MARKS[name]} /></svg>`;
}

/** A mark and a word. @param kind a class that colours both. */
export function badge(name: MarkName, kind: string, word: string): VNode {
  return html`<span class=${`status ${kind}`}>${mark(name)} ${word}</span>`;
}

/** A figure on the line of a strip. */
export interface Band {
  readonly value: number;
  readonly low?: number | null | undefined;
  readonly high?: number | null | undefined;
  /** Where a dashed mark is: the value without skill, or the one that was requested. */
  readonly reference: number;
}

/** A figure with its band and its reference, on one line without labels. @param within further values that the line contains. */
export function strip({ value, low, high, reference }: Band, within: readonly number[] = []): VNode {
  const known = [value, reference, ...within, low ?? value, high ?? value];
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const margin = 0.04 * (most - least || 1);
  const at = (number: number) => gridX((number - least + margin) / (most - least + 2 * margin));
  const middle = GRID / 2;
  return html`<svg class="strip" aria-hidden="true" height="22">
    <svg class="marks" viewBox=${`0 0 ${GRID} ${GRID}`} width="100%" height="100%" preserveAspectRatio="none">
      <path class="grid" d=${`M0 ${middle}H${GRID}`} />
      <path class="level" d=${`M${at(reference)} 0V${GRID}`} />
      ${low != null && high != null && html`<path class="interval" d=${`M${at(low)} ${middle}H${at(high)}`} />`}
      <path class="dot" d=${`M${at(value)} ${middle}h0`} />
    </svg>
  </svg>`;
}

/** A bar from zero to a value. @param low the left end of its line. @param high the right end, not below 0. */
export function bar(value: number, low: number, high: number): VNode {
  const at = (number: number) => (high > low ? Math.round((GRID * (number - low)) / (high - low)) : GRID / 2);
  return html`<svg class="marks bar" viewBox="0 0 1000 14" preserveAspectRatio="none" height="14" aria-hidden="true">
    <path class="bar" d=${`M${at(0)} 3H${at(value)}V11H${at(0)}z`} />
    <path class="zero" d=${`M${at(0)} 0V14`} />
  </svg>`;
}
