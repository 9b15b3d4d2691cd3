import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-order.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { orderByDates } from "./row-order.ts";
import type { PanelRows } from "./ticker-panel.ts";

/** A date needs so many labelled tickers for its mean and deviation to stand for the market. */
export const MIN_DATE_TICKERS = 5;

/** Targets beyond so many deviations are cut off: one crash or takeover would otherwise weigh as much as a year. */
export const MAX_TARGET = 5;

/** Dates whose deviations make a width: about a month. */
export const WIDTH_DATES = 20;

/** Labels whose deviation is at most so small a part of the largest are equal but for rounding. */
const EQUAL = 1e-12;

/** What models learn with target `relative`, and how their predictions become returns again. */
export interface RelativeTargets {
  readonly byTicker: ReadonlyMap<string, Omit<RelativeTarget, "levels">>;
  readonly levels: Levels;
  /** Dates with a fit row, but with too few of them to have a mean. */
  readonly thinDates: number;
}

/** The part of one ticker. */
export interface RelativeTarget {
  /** Shape (rows): NaN where the row teaches nothing. */
  readonly values: Float64Array;
  /** Shape (rows): what a prediction of 1 stands for, log-return above the level; known at the row's date, NaN where it is not. */
  readonly widths: Float64Array;
  readonly levels: Levels;
}

/** Means of the labels that teach, over all tickers. */
export interface Levels {
  /** The mean of the labels that are known at the close of `day`; NaN where there is none. */
  knownAt(day: Day): number;
  /** The mean of all labels before the cut. */
  readonly final: number;
}

type LabelledRows = Pick<PanelRows, "ticker" | "days" | "labelDays" | "y" | "fit">;

/**
 * The target of a fit row of date d: (y - m) / s, within [-MAX_TARGET, MAX_TARGET], with m and s the mean and the standard deviation (ddof 0)
 * of the labels of date d over the tickers whose label is known by the time the row's own is. So no target depends on a label that comes
 * later than its own. A row teaches nothing where fewer than MIN_DATE_TICKERS labels make its mean, or where these are all equal.
 *
 * The width of a row of date d is the root mean square of s over the last WIDTH_DATES dates that have enough labels known at d.
 * @param panels in any order; the results are the same to the bit.
 */
export function* relativeTargets(panels: readonly LabelledRows[]): Pausable<RelativeTargets> {
  const values = new Map(
    panels.map(({ ticker, days }) => [ticker, new Float64Array(days.length).fill(Number.NaN)]),
  );
  const cuts = new Map(panels.map(({ ticker, fit }) => [ticker, fit.length === 0 ? -1 : fit.at(-1)!]));
  const learned: { readonly labelDay: Day; readonly y: number }[] = [];
  const spreads: DateSpreads[] = [];
  let thinDates = 0;
  for (const rows of yield* labelledRowsByDate(panels)) {
    yield 0;
    const cohorts = cohortsOf(rows);
    spreads.push({ day: rows[0]!.panel.days[rows[0]!.row]!, cohorts });
    const isFit = ({ panel, row }: LabelledRow) => row <= cuts.get(panel.ticker)!;
    const fitRows = rows.filter(isFit).length;
    if (fitRows > 0 && fitRows < MIN_DATE_TICKERS) thinDates++;
    for (const cohort of cohorts) {
      if (cohort.hasEqualLabels) continue;
      for (const labelled of cohort.rows.filter(isFit)) {
        const { panel, row, labelDay, y } = labelled;
        const target = (y - cohort.mean) / cohort.deviation;
        values.get(panel.ticker)![row] = Math.max(-MAX_TARGET, Math.min(MAX_TARGET, target));
        learned.push({ labelDay, y });
      }
    }
  }
  const widthAt = widthsOf(spreads);
  const byTicker = new Map(
    panels.map(({ ticker, days }) => [
      ticker,
      { values: values.get(ticker)!, widths: Float64Array.from(days, widthAt) },
    ]),
  );
  return { byTicker, levels: levelsOf(learned), thinDates };
}

interface LabelledRow {
  readonly panel: LabelledRows;
  readonly row: number;
  readonly labelDay: Day;
  readonly y: number;
}

/** The rows of a date whose labels become known on one day, and what all labels of the date that are known by then say. */
interface Cohort {
  readonly rows: readonly LabelledRow[];
  readonly labelDay: Day;
  readonly mean: number;
  readonly deviation: number;
  readonly hasEqualLabels: boolean;
}

interface DateSpreads {
  readonly day: Day;
  /** Ascending by label date: those that know at least MIN_DATE_TICKERS labels. */
  readonly cohorts: readonly Cohort[];
}

/** The labelled rows of each date, ascending by the date of their label, then by ticker. */
function* labelledRowsByDate(panels: readonly LabelledRows[]): Pausable<LabelledRow[][]> {
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const flat: LabelledRow[] = [];
  for (const panel of ascending) {
    yield 0;
    for (const [row, labelDay] of panel.labelDays.entries()) {
      if (labelDay !== NO_LABEL_DAY) flat.push({ panel, row, labelDay, y: panel.y[row]! });
    }
  }
  const dayOf = ({ panel, row }: LabelledRow) => panel.days[row]!;
  const order = orderByDates(
    flat.map(dayOf),
    flat.map(({ labelDay }) => labelDay),
  );
  yield 0;
  const dates: LabelledRow[][] = [];
  for (const i of order) {
    const row = flat[i]!;
    const last = dates.at(-1);
    if (last !== undefined && dayOf(last[0]!) === dayOf(row)) last.push(row);
    else dates.push([row]);
  }
  return dates;
}

/** @param rows of one date, ascending by label date. */
function cohortsOf(rows: readonly LabelledRow[]): Cohort[] {
  const cohorts: Cohort[] = [];
  for (let from = 0; from < rows.length; ) {
    const { labelDay } = rows[from]!;
    let to = from;
    while (to < rows.length && rows[to]!.labelDay === labelDay) to++;
    if (to >= MIN_DATE_TICKERS) {
      cohorts.push({ rows: rows.slice(from, to), labelDay, ...spreadOf(rows.slice(0, to)) });
    }
    from = to;
  }
  return cohorts;
}

function spreadOf(rows: readonly LabelledRow[]): Pick<Cohort, "mean" | "deviation" | "hasEqualLabels"> {
  let [sum, squares, largest] = [0, 0, 0];
  for (const { y } of rows) sum += y;
  const mean = sum / rows.length;
  for (const { y } of rows) {
    squares += (y - mean) * (y - mean);
    largest = Math.max(largest, Math.abs(y));
  }
  const deviation = Math.sqrt(squares / rows.length);
  return { mean, deviation, hasEqualLabels: deviation <= EQUAL * largest };
}

/** The width of each date. @param spreads ascending by date. */
function widthsOf(spreads: readonly DateSpreads[]): (day: Day) => number {
  const widths = new Map<Day, number>();
  return (day) => {
    const known = widths.get(day);
    if (known !== undefined) return known;
    let [squares, count] = [0, 0];
    for (let i = countUpTo(spreads, day - 1) - 1; i >= 0 && count < WIDTH_DATES; i--) {
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

function levelsOf(learned: readonly { readonly labelDay: Day; readonly y: number }[]): Levels {
  const ascending = learned.map(({ labelDay, y }) => ({ day: labelDay, y })).sort((a, b) => a.day - b.day);
  const sums = new Float64Array(ascending.length);
  let sum = 0;
  for (const [i, { y }] of ascending.entries()) {
    sum += y;
    sums[i] = sum;
  }
  const mean = (count: number) => (count === 0 ? Number.NaN : sums[count - 1]! / count);
  return { final: mean(ascending.length), knownAt: (day) => mean(countUpTo(ascending, day)) };
}

/** How many entries are dated at or before `day`. @param entries ascending by day. */
function countUpTo(entries: readonly { readonly day: Day }[], day: Day): number {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (entries[middle]!.day <= day) from = middle + 1;
    else to = middle;
  }
  return from;
}
