import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { normalQuantile } from "./normal-quantile.ts";
import { countBefore, orderByDates, valuesAt } from "./rows.ts";
import type { PanelRows } from "./ticker-panel.ts";

/** A date needs this many labelled tickers for its mean and deviation to represent the market. */
export const MIN_DATE_TICKERS = 5;

/** Targets beyond this many deviations are clipped: otherwise one crash or takeover would weigh as much as a year. */
export const MAX_TARGET = 5;

/** The number of dates whose deviations make a width: about a month. */
export const WIDTH_DATES = 20;

/** Labels whose deviation is at most this share of the largest are equal up to rounding. */
const EQUAL = 1e-12;

/** What models learn of a label among those of its date: its z-score, or the normal score of its rank. */
export type TargetForm = "relative" | "rank";

/** What models learn with target `relative` or `rank`, and how their predictions become returns again. */
export interface RelativeTargets {
  readonly byTicker: ReadonlyMap<string, Omit<RelativeTarget, "levels">>;
  readonly levels: Levels;
  /** The number of dates with a fit row, but with too few of them for a mean. */
  readonly thinDates: number;
  /** The part of a ticker that is compared with the others without affecting their means, deviations and levels. */
  ofOther(rows: Omit<LabelledRows, "fit">): RelativeTarget;
}

export interface RelativeTarget {
  /** Shape (rows): for fit rows, and for score rows with a label, from which a later refit learns; NaN if a row is not used. */
  readonly values: Float64Array;
  /** Shape (rows): the log-return above the level that a prediction of 1 means; known at the row's date, otherwise NaN. */
  readonly widths: Float64Array;
  readonly levels: Levels;
}

/** Means of the labels of rows with a target, over all tickers. */
export interface Levels {
  /** The mean of the labels that are known at the close of `day`; NaN if there is none. */
  knownAt(day: Day): number;
  /** The mean of the labels of all fit rows. */
  readonly final: number;
}

export type LabelledRows = Pick<PanelRows, "ticker" | "days" | "labelDays" | "y" | "fit">;

/**
 * The target of a labelled row of date d: (y - m) / s, within [-MAX_TARGET, MAX_TARGET], with m and s the mean and the standard deviation
 * (ddof 0) of the labels of date d over the tickers whose label is known by the time the row's own is. So no target depends on a label that
 * is known later than its own. A row is not used if fewer than MIN_DATE_TICKERS labels make its mean, or if these are all equal.
 * With `rank`, the target is the standard normal quantile of (rank - 1/2) / n among the same n labels, ties with their mean rank.
 *
 * The width of a row of date d is the root mean square of s over the last WIDTH_DATES dates that have enough labels known at d.
 * @param panels in any order; the results are the same to the bit.
 */
export function relativeTargets(
  panels: readonly LabelledRows[],
  form: TargetForm = "relative",
): RelativeTargets {
  const labels = labelsByDate(panels);
  const values = labels.panels.map(({ days }) => new Float64Array(days.length).fill(Number.NaN));
  const cuts = labels.panels.map(({ fit }) => fit.at(-1) ?? -1);
  const kinds = new Uint8Array(labels.y.length);
  const spreads: DateSpreads[] = [];
  let thinDates = 0;
  for (const [from, to] of runsOf(labels.days, 0, labels.days.length)) {
    const cohorts = cohortsOf(labels, from, to, form);
    spreads.push({ day: labels.days[from]!, cohorts });
    const isFit = (i: number) => labels.rows[i]! <= cuts[labels.panelOf[i]!]!;
    let fitRows = 0;
    for (let i = from; i < to; i++) if (isFit(i)) fitRows++;
    if (fitRows > 0 && fitRows < MIN_DATE_TICKERS) thinDates++;
    for (const cohort of cohorts) {
      for (let i = cohort.begin; i < cohort.end; i++) {
        if (cohort.hasEqualLabels) continue;
        values[labels.panelOf[i]!]![labels.rows[i]!] = targetIn(cohort, labels.y[i]!);
        kinds[i] = isFit(i) ? FIT : LATER;
      }
    }
  }
  const widthAt = widthsOf(spreads);
  const byTicker = new Map(
    labels.panels.map(({ ticker, days }, p) => [
      ticker,
      { values: values[p]!, widths: Float64Array.from(days, widthAt) },
    ]),
  );
  const levels = levelsOf(labels, kinds);
  const cohortsOn = new Map(spreads.map(({ day, cohorts }) => [day, cohorts]));
  const ofOther = ({ days, labelDays, y }: Omit<LabelledRows, "fit">): RelativeTarget => ({
    values: y.map((label, row) => {
      const known = cohortsOn.get(days[row]!)?.findLast(({ labelDay }) => labelDay <= labelDays[row]!);
      return known === undefined || known.hasEqualLabels ? Number.NaN : targetIn(known, label);
    }),
    widths: Float64Array.from(days, widthAt),
    levels,
  });
  return { byTicker, levels, thinDates, ofOther };
}

/** NaN for a row without a label. */
function targetIn({ mean, deviation, sorted }: Cohort, label: number): number {
  if (sorted !== undefined) return Number.isNaN(label) ? label : normalScore(sorted, label);
  return Math.max(-MAX_TARGET, Math.min(MAX_TARGET, (label - mean) / deviation));
}

/** @param sorted shape (n), ascending; a label that is not among them has a rank between theirs. */
function normalScore(sorted: Float64Array, label: number): number {
  const n = sorted.length;
  const below = firstFrom(sorted, (value) => value >= label);
  const upTo = firstFrom(sorted, (value) => value > label);
  return normalQuantile(Math.max(0.5, Math.min(n - 0.5, (below + upTo) / 2)) / n);
}

/** The first position whose value, and all after it, pass. */
function firstFrom(sorted: Float64Array, passes: (value: number) => boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (passes(sorted[middle]!)) to = middle;
    else from = middle + 1;
  }
  return from;
}

const [FIT, LATER] = [1, 2];

/** Shape (n) each: the labelled rows of all panels, ascending by date, then by the date of their label, then by ticker. */
interface SortedLabels {
  /** Ascending by code point. */
  readonly panels: readonly LabelledRows[];
  /** Index of the panel that has the row. */
  readonly panelOf: Int32Array;
  /** The row within its panel. */
  readonly rows: Int32Array;
  readonly days: Int32Array;
  readonly labelDays: Int32Array;
  readonly y: Float64Array;
}

/** In arrays of numbers: millions of rows as objects would need as much memory as a matrix. */
function labelsByDate(unsorted: readonly LabelledRows[]): SortedLabels {
  const panels = unsorted.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const most = panels.reduce((sum, { days }) => sum + days.length, 0);
  const panelOf = new Int32Array(most);
  const rows = new Int32Array(most);
  const days = new Int32Array(most);
  const labelDays = new Int32Array(most);
  let count = 0;
  for (const [p, panel] of panels.entries()) {
    for (const [row, labelDay] of panel.labelDays.entries()) {
      if (labelDay === NO_LABEL_DAY) continue;
      panelOf[count] = p;
      rows[count] = row;
      days[count] = panel.days[row]!;
      labelDays[count] = labelDay;
      count++;
    }
  }
  const order = orderByDates(days.subarray(0, count), labelDays.subarray(0, count));
  return {
    panels,
    panelOf: valuesAt(panelOf, order),
    rows: valuesAt(rows, order),
    days: valuesAt(days, order),
    labelDays: valuesAt(labelDays, order),
    y: order.map((i) => panels[panelOf[i]!]!.y[rows[i]!]!),
  };
}

/** The ranges [begin, end) of equal values in [from, to). */
function* runsOf(values: Int32Array, from: number, to: number): Generator<readonly [number, number]> {
  for (let begin = from; begin < to; ) {
    let end = begin + 1;
    while (end < to && values[end] === values[begin]) end++;
    yield [begin, end];
    begin = end;
  }
}

/** The labels [begin, end) of a date that become known on one day, and the statistics of all labels of the date that are known by then. */
interface Cohort {
  readonly begin: number;
  readonly end: number;
  readonly labelDay: Day;
  readonly mean: number;
  readonly deviation: number;
  readonly hasEqualLabels: boolean;
  /** Ascending; only for ranks. */
  readonly sorted?: Float64Array;
}

interface DateSpreads {
  readonly day: Day;
  /** Ascending by label date: those with at least MIN_DATE_TICKERS known labels. */
  readonly cohorts: readonly Cohort[];
}

/** Statistics of the labels [from, to), all of one date. */
function cohortsOf({ labelDays, y }: SortedLabels, from: number, to: number, form: TargetForm): Cohort[] {
  const cohorts: Cohort[] = [];
  for (const [begin, end] of runsOf(labelDays, from, to)) {
    if (end - from < MIN_DATE_TICKERS) continue;
    const known = y.subarray(from, end);
    const ranked = form === "rank" ? { sorted: known.toSorted() } : {};
    cohorts.push({ begin, end, labelDay: labelDays[begin]!, ...spreadOf(known), ...ranked });
  }
  return cohorts;
}

function spreadOf(labels: Float64Array): Pick<Cohort, "mean" | "deviation" | "hasEqualLabels"> {
  let [sum, squares, largest] = [0, 0, 0];
  for (const y of labels) sum += y;
  const mean = sum / labels.length;
  for (const y of labels) {
    squares += (y - mean) * (y - mean);
    largest = Math.max(largest, Math.abs(y));
  }
  const deviation = Math.sqrt(squares / labels.length);
  return { mean, deviation, hasEqualLabels: deviation <= EQUAL * largest };
}

/** The width of each date. @param spreads ascending by date. */
function widthsOf(spreads: readonly DateSpreads[]): (day: Day) => number {
  const dates = Int32Array.from(spreads, ({ day }) => day);
  const widths = new Map<Day, number>();
  return (day) => {
    const known = widths.get(day);
    if (known !== undefined) return known;
    let [squares, count] = [0, 0];
    for (let i = countBefore(dates, day) - 1; i >= 0 && count < WIDTH_DATES; i--) {
      const cohort = spreads[i]!.cohorts.findLast(({ labelDay }) => labelDay <= day);
      if (cohort === undefined) continue;
      squares += cohort.deviation * cohort.deviation;
      count++;
    }
    const width = count === 0 ? Number.NaN : Math.sqrt(squares / count);
    widths.set(day, width);
    return width;
  };
}

/** @param kinds FIT or LATER for each label of a row with a target, 0 for the others. */
function levelsOf({ labelDays, y }: SortedLabels, kinds: Uint8Array): Levels {
  const order = orderByDates(labelDays, labelDays).filter((i) => kinds[i] !== 0);
  let sum = 0;
  return levels(
    valuesAt(labelDays, order),
    order.map((i) => (sum += y[i]!)),
    // Labels of fit rows are known by the cut and all others after it, so they stay first.
    order.findLastIndex((i) => kinds[i] === FIT) + 1,
  );
}

/**
 * Keeps only these two arrays.
 * @param days shape (n), ascending.
 * @param sums shape (n): of the labels up to each.
 * @param fit the labels of fit rows.
 */
function levels(days: Int32Array, sums: Float64Array, fit: number): Levels {
  const mean = (count: number) => (count === 0 ? Number.NaN : sums[count - 1]! / count);
  return { final: mean(fit), knownAt: (day) => mean(countBefore(days, day + 1)) };
}
