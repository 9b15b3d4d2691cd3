import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { normalQuantile } from "./normal-quantile.ts";
import { countBefore, orderByDates } from "./rows.ts";
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
export interface RelativeTarget {
  /** Shape (rows): for fit rows, and for score rows with a label, from which a later refit learns; NaN if a row is not used. */
  readonly values: Float64Array;
  /** Shape (rows): the log-return above the level that a prediction of 1 means; known at the row's date, otherwise NaN. */
  readonly widths: Float64Array;
  readonly levels: Levels;
}

/** Means of the labels of rows with a target, over all tickers. */
interface Levels {
  /** The mean of the labels that are known at the close of `day`; NaN if there is none. */
  knownAt(day: Day): number;
  /** The mean of the labels of all fit rows. */
  readonly final: number;
}

type LabelledRows = Pick<PanelRows, "ticker" | "days" | "labelDays" | "y" | "fit">;

/**
 * The target of a labelled row of date d: (y - m) / s, within [-MAX_TARGET, MAX_TARGET], with m and s the mean and the standard deviation
 * (ddof 0) of the labels of date d over the tickers whose label is known by the time the row's own is. So no target depends on a label that
 * is known later than its own. A row is not used if fewer than MIN_DATE_TICKERS labels make its mean, or if these are all equal.
 * With `rank`, the target is the standard normal quantile of (rank - 1/2) / n among the same n labels, ties with their mean rank.
 *
 * The width of a row of date d is the root mean square of s over the last WIDTH_DATES dates that have enough labels known at d.
 * @param panels in any order; the results are the same to the bit.
 * @returns `thinDates`: the number of dates with a fit row, but with too few of them for a mean; and `ofOther`: the target of a ticker that is
 * compared with the others without affecting them.
 */
export function relativeTargets(panels: readonly LabelledRows[], form: TargetForm = "relative") {
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const labels = sortLabels(ascending);
  const { panelOf, rowOf, days, y } = labels;
  const lastFit = ascending.map(({ fit }) => fit.at(-1) ?? -1);
  const isFit = (i: number) => rowOf[i]! <= lastFit[panelOf[i]!]!;
  const values = ascending.map((panel) => new Float64Array(panel.days.length).fill(Number.NaN));
  const isUsed = new Uint8Array(y.length);
  const dates: DateCohorts[] = [];
  let thinDates = 0;
  for (const [from, to] of runsOf(days, 0, days.length)) {
    const cohorts = cohortsOf(labels, from, to, form);
    dates.push({ day: days[from]!, cohorts });
    let fitRows = 0;
    for (let i = from; i < to; i++) if (isFit(i)) fitRows++;
    if (fitRows > 0 && fitRows < MIN_DATE_TICKERS) thinDates++;
    for (const cohort of cohorts) {
      for (let i = cohort.begin; i < cohort.end && !cohort.isEqual; i++) {
        values[panelOf[i]!]![rowOf[i]!] = targetIn(cohort, y[i]!);
        isUsed[i] = 1;
      }
    }
  }
  const levels = levelsOf(labels, (i) => isUsed[i] === 1, isFit);
  const widthAt = widthsOf(dates);
  const cohortsOn = new Map(dates.map(({ day, cohorts }) => [day, cohorts]));
  const widths = (panel: Pick<LabelledRows, "days">) => Float64Array.from(panel.days, widthAt);
  return {
    byTicker: new Map(
      ascending.map((panel, p) => [panel.ticker, { values: values[p]!, widths: widths(panel) }]),
    ),
    ...{ levels, thinDates },
    ofOther: (other: Omit<LabelledRows, "fit">): RelativeTarget => ({
      values: other.y.map((label, row) => {
        const cohort = cohortsOn.get(other.days[row]!)?.findLast(knownAt(other.labelDays[row]!));
        return cohort === undefined || cohort.isEqual ? Number.NaN : targetIn(cohort, label);
      }),
      widths: widths(other),
      levels,
    }),
  };
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

/**
 * The labelled rows of all panels, ascending by date, then by the date of their label, then by ticker: shape (n) each, since millions of rows
 * as objects would need as much memory as a matrix. `panelOf` is the number of the panel that has the row, `rowOf` the row within it.
 */
function sortLabels(panels: readonly LabelledRows[]) {
  const labelled = panels.map(({ labelDays }) =>
    [...labelDays.keys()].filter((row) => labelDays[row] !== NO_LABEL_DAY),
  );
  const gather = (of: (panel: LabelledRows, row: number, p: number) => number) =>
    labelled.flatMap((rows, p) => rows.map((row) => of(panels[p]!, row, p)));
  const days = Int32Array.from(gather(({ days }, row) => days[row]!));
  const labelDays = Int32Array.from(gather(({ labelDays }, row) => labelDays[row]!));
  const order = orderByDates(days, labelDays);
  const sort = (values: readonly number[]) => order.map((i) => values[i]!);
  const y = gather((panel, row) => panel.y[row]!);
  return {
    panelOf: sort(gather((_, _row, p) => p)),
    rowOf: sort(gather((_, row) => row)),
    days: order.map((i) => days[i]!),
    labelDays: order.map((i) => labelDays[i]!),
    y: Float64Array.from(order, (i) => y[i]!),
  };
}

type SortedLabels = ReturnType<typeof sortLabels>;

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
  /** Whether all labels are equal up to rounding. */
  readonly isEqual: boolean;
  /** Ascending; only for ranks. */
  readonly sorted?: Float64Array;
}

interface DateCohorts {
  readonly day: Day;
  /** Ascending by label date: those with at least MIN_DATE_TICKERS known labels. */
  readonly cohorts: readonly Cohort[];
}

/** @param from the labels [from, to) are those of one date. */
function cohortsOf({ labelDays, y }: SortedLabels, from: number, to: number, form: TargetForm): Cohort[] {
  const cohorts: Cohort[] = [];
  for (const [begin, end] of runsOf(labelDays, from, to)) {
    const n = end - from;
    if (n < MIN_DATE_TICKERS) continue;
    let [sum, squares, largest] = [0, 0, 0];
    for (let i = from; i < end; i++) sum += y[i]!;
    const mean = sum / n;
    for (let i = from; i < end; i++) {
      squares += (y[i]! - mean) * (y[i]! - mean);
      largest = Math.max(largest, Math.abs(y[i]!));
    }
    const deviation = Math.sqrt(squares / n);
    const isEqual = deviation <= EQUAL * largest;
    const ranked = form === "rank" && { sorted: y.slice(from, end).sort() };
    cohorts.push({ begin, end, labelDay: labelDays[begin]!, mean, deviation, isEqual, ...ranked });
  }
  return cohorts;
}

/** NaN for a row without a label. */
function targetIn({ mean, deviation, sorted }: Cohort, label: number): number {
  if (sorted !== undefined) return Number.isNaN(label) ? label : normalScore(sorted, label);
  return Math.max(-MAX_TARGET, Math.min(MAX_TARGET, (label - mean) / deviation));
}

function knownAt(day: Day): (cohort: Cohort) => boolean {
  return ({ labelDay }) => labelDay <= day;
}

/** The width of each date. @param dates ascending. */
function widthsOf(dates: readonly DateCohorts[]): (day: Day) => number {
  const days = Int32Array.from(dates, ({ day }) => day);
  const widths = new Map<Day, number>();
  return (day) => {
    const found = widths.get(day);
    if (found !== undefined) return found;
    let [squares, count] = [0, 0];
    for (let i = countBefore(days, day) - 1; i >= 0 && count < WIDTH_DATES; i--) {
      const cohort = dates[i]!.cohorts.findLast(knownAt(day));
      if (cohort === undefined) continue;
      squares += cohort.deviation * cohort.deviation;
      count++;
    }
    const width = count === 0 ? Number.NaN : Math.sqrt(squares / count);
    widths.set(day, width);
    return width;
  };
}

function levelsOf(
  { labelDays, y }: SortedLabels,
  isUsed: (i: number) => boolean,
  isFit: (i: number) => boolean,
): Levels {
  const order = orderByDates(labelDays, labelDays).filter(isUsed);
  const days = order.map((i) => labelDays[i]!);
  let sum = 0;
  const sums = Float64Array.from(order, (i) => (sum += y[i]!));
  const mean = (count: number) => (count === 0 ? Number.NaN : sums[count - 1]! / count);
  // Labels of fit rows are known by the cut and all others after it, so they stay first.
  return { final: mean(order.findLastIndex(isFit) + 1), knownAt: (day) => mean(countBefore(days, day + 1)) };
}
