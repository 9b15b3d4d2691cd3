import { type Day, formatDay, MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import { COMPARED_FORMATS, type Unit } from "./figures.ts";

/** What an axis shows: values with round ticks, dates, epochs, or names one after the other, each one unit wide. */
export type AxisKind =
  | {
      readonly unit: Unit;
      readonly ticks?: number;
      readonly title?: string;
      readonly within?: readonly number[];
    }
  | "days"
  | "epochs"
  | { readonly names: readonly string[] };

export interface AxisLabel {
  /** Share of the axis, from its lower end. */
  readonly at: number;
  readonly text: string;
  /** Hidden on narrow screens. */
  readonly isSpare?: boolean;
}

export interface Axis {
  readonly low: number;
  readonly high: number;
  readonly labels: readonly AxisLabel[];
  /** Values with a line across the chart. */
  readonly lines: readonly number[];
  /** Where a value is: 0 at the lower end, 1 at the upper end, where infinity is too. */
  readonly share: (value: number) => number;
}

/** @param values that the axis contains. */
export function axisOf(kind: AxisKind, values: Iterable<number>): Axis {
  if (kind === "days" || kind === "epochs") {
    const [first, last] = extent(values) ?? [0, 1];
    const share = (value: number) => (value - first) / (last - first || 1);
    const at = (value: number, text = String(value)) => ({ at: first === last ? 0.5 : share(value), text });
    const labels =
      kind === "days"
        ? dayLabels(first, last, at)
        : [
            at(first, `epoch ${first}`),
            ...ticksWithin(first, last, 5)
              .filter((tick) => Number.isInteger(tick) && share(tick) > 0.2)
              .map((tick) => at(tick)),
          ];
    return { low: first, high: last, labels, lines: [], share };
  }
  if ("names" in kind) {
    const { length } = kind.names;
    const share = (value: number) => value / length;
    const labels = kind.names.map((text, i) => ({ at: (i + 0.5) / length, text }));
    return { low: 0, high: length, labels, lines: [], share };
  }
  return valueAxis(kind.unit, [...(extent(values) ?? []), ...(kind.within ?? [])], kind.ticks ?? 4);
}

export function extent(values: Iterable<number>): readonly [low: number, high: number] | undefined {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? undefined : [low, high];
}

/** Beyond these the arithmetic of an axis overflows or underflows; an output may contain any number. */
const MAX_MAGNITUDE = 1e300;
const MIN_MAGNITUDE = 1e-290;
const bounded = (value: number) => Math.min(MAX_MAGNITUDE, Math.max(-MAX_MAGNITUDE, value));

/** Contains all values with a small margin, so that no mark touches the frame; a side that ends at 0 is the base of bars. */
function valueAxis(unit: Unit, values: readonly number[], count: number): Axis {
  const [least, most] = (extent(values) ?? [0, 1]).map(bounded) as [number, number];
  const size = Math.max(Math.abs(least), Math.abs(most));
  const isOne = most - least <= 1e-9 * size || size < MIN_MAGNITUDE;
  const margin = isOne ? (size < MIN_MAGNITUDE ? 0.5 : size / 2) : 0.04 * (most - least);
  const low = least === 0 && !isOne ? 0 : least - margin;
  const high = most === 0 && !isOne ? 0 : most + margin;
  const lines = ticksWithin(low, high, count);
  const share = (value: number) => (bounded(value) - low) / (high - low);
  const texts = tickTexts(lines, unit);
  const labels = lines.map((tick, i) => ({
    at: share(tick),
    text: texts[i]!,
    isSpare: lines.length > 4 && i % 2 === 1,
  }));
  return { low, high, labels, lines, share };
}

/** Multiples of 1, 2 or 5 times a power of ten: the step closest to `count` steps, by its ratio, as d3 chooses it. */
export function ticksWithin(low: number, high: number, count: number): readonly number[] {
  const wanted = (high - low) / count;
  if (!(wanted > 0)) return [low];
  const power = Math.floor(Math.log10(wanted));
  const ratio = wanted / 10 ** power;
  const factor = ratio >= Math.sqrt(50) ? 10 : ratio >= Math.sqrt(10) ? 5 : ratio >= Math.SQRT2 ? 2 : 1;
  const step = factor * 10 ** power;
  const first = Math.ceil(low / step);
  const ticks = Math.floor(high / step) - first + 1;
  return Array.from({ length: ticks }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** How the numbers of an axis look; their decimals come from its step. */
export function axisFormat(unit: Unit) {
  switch (unit) {
    case "number":
    case "count":
      return { factor: 1, symbol: "", isSigned: false };
    case "share":
    case "return":
      return { factor: 100, symbol: "%", isSigned: unit === "return" };
    default:
      return COMPARED_FORMATS[unit];
  }
}

/** With as many decimals each as the longest one needs. */
function tickTexts(ticks: readonly number[], unit: Unit): readonly string[] {
  const { factor, symbol, isSigned } = axisFormat(unit);
  const scaled = ticks.map((tick) => Number((tick * factor).toPrecision(12)));
  const plain = scaled.map((value) => String(Math.abs(value)));
  const decimals = Math.max(0, ...plain.map((text) => text.split(".")[1]?.length ?? 0));
  const isLong = decimals > 6 || scaled.some((value) => Math.abs(value) >= 1e6 || /e/.test(String(value)));
  return scaled.map((value) => {
    const size = Math.abs(value);
    const amount = value === 0 ? "0" : isLong ? size.toExponential() : size.toFixed(decimals);
    const sign = value < 0 ? "\u2212" : isSigned && value > 0 ? "+" : "";
    return `${sign}${amount}${symbol && `\u202f${symbol}`}`;
  });
}

/** The steps between the labels of dates, in months. */
const MONTH_STEPS = [1, 3, 12, 24, 60, 120, 240, 600, 1_200];
const MAX_DAY_LABELS = 5;

/** The starts of months, quarters or years between two days; for a span without two such starts, its two ends. */
function dayLabels(first: Day, last: Day, at: (day: Day, text: string) => AxisLabel): readonly AxisLabel[] {
  if (first === last) return [at(first, formatDay(first))];
  const date = new Date(first * MILLISECONDS_PER_DAY);
  const month = 12 * date.getUTCFullYear() + date.getUTCMonth();
  for (const step of MONTH_STEPS) {
    const starts: AxisLabel[] = [];
    for (let from = Math.ceil(month / step) * step; ; from += step) {
      const day = Date.UTC(Math.floor(from / 12), from % 12) / MILLISECONDS_PER_DAY;
      if (day > last || starts.length > MAX_DAY_LABELS) break;
      if (day >= first) starts.push(at(day, formatDay(day).slice(0, step < 12 ? 7 : 4)));
    }
    if (starts.length > MAX_DAY_LABELS) continue;
    if (starts.length < 2) break;
    return starts.map((start, i) => ({ ...start, isSpare: step < 12 && starts.length > 4 && i % 2 === 1 }));
  }
  return [at(first, formatDay(first)), at(last, formatDay(last))];
}
