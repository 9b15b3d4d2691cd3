import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import { LONGEST_GAP_DAYS } from "../contract/market/price-gaps.ts";
import { compareCodePoints } from "../contract/market/ticker-order.ts";
import type { Fold } from "./folds.ts";
import { orderByDates, valuesAt } from "./row-order.ts";
import { LEAST_FIT_ROWS, type PanelRows } from "./ticker-panel.ts";

type PooledRows = Pick<PanelRows, "ticker" | "days" | "labelDays" | "fit" | "score">;

/** One fold of a pooled fit, as rows of its matrix: it trains on [0, trainEnd) and predicts [trainEnd, testEnd). */
export interface PooledFold {
  /** Its first test date: every label of its training rows is known at that close. */
  readonly from: Day;
  readonly trainEnd: number;
  readonly testEnd: number;
}

/** The rows of one ticker in a pooled fit. */
export interface PooledMember<P extends PooledRows = PooledRows> {
  readonly panel: P;
  /** Shape (fit + score), ascending: the row of the matrix that each fit row, then each score row, is. */
  readonly places: Float64Array;
  /** Those of the folds that test rows of the ticker, as positions in its fit rows, with the number of each among all folds. */
  readonly folds: readonly (Fold & { readonly fold: number })[];
}

/** One regressor for all tickers: the fit rows of all, by the date of their label, then their score rows by date. */
export interface PooledPlan<P extends PooledRows = PooledRows> {
  readonly fitRows: number;
  readonly scoreRows: number;
  readonly folds: readonly PooledFold[];
  /** Ascending by code point. */
  readonly members: readonly PooledMember<P>[];
}

/**
 * Plans a pooled fit. With n distinct dates of fit rows, folds test the last k · testSize of them in k blocks, k = min(nSplits,
 * floor((n - LEAST_FIT_ROWS) / testSize)).
 *
 * Timing: a fold trains on the rows whose label is known at the close of its first test date, so every fold's training rows are a prefix of
 * the matrix. It tests the rows that are dated in its block and whose label is known at the close of the next block's first date; a row whose
 * label comes later, after a gap in its prices, has no forecast out of fold. A ticker with fewer than LEAST_FIT_ROWS training rows
 * in a fold is not tested by it.
 * @param panels in any order; the plan is the same.
 */
export function* planPooled<P extends PooledRows>(
  panels: readonly P[],
  { cvTestSize, nSplits }: { readonly cvTestSize: number; readonly nSplits: number },
): Pausable<PooledPlan<P>> {
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const fit = yield* placesOf(ascending, "fit");
  const score = yield* placesOf(ascending, "score");
  const folds = yield* foldsOf(ascending, fit.labelDays, cvTestSize, nSplits);
  return {
    fitRows: fit.rows,
    scoreRows: score.rows,
    folds,
    members: ascending.map((panel, i) => ({
      panel,
      places: concatenated(
        fit.places[i]!,
        score.places[i]!.map((place) => fit.rows + place),
      ),
      folds: foldsOfTicker(panel, folds),
    })),
  };
}

function concatenated(a: Float64Array, b: Float64Array): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Where the rows of each ticker stand: fit rows by the date of their label, score rows by their own. */
function* placesOf(
  panels: readonly PooledRows[],
  part: "fit" | "score",
): Pausable<{ readonly rows: number; readonly places: Float64Array[]; readonly labelDays: Int32Array }> {
  const n = panels.reduce((sum, panel) => sum + panel[part].length, 0);
  const days = new Int32Array(n);
  const labelDays = new Int32Array(n);
  let count = 0;
  for (const panel of panels) {
    yield 0;
    for (const row of panel[part]) {
      days[count] = panel.days[row]!;
      labelDays[count] = part === "fit" ? panel.labelDays[row]! : panel.days[row]!;
      count++;
    }
  }
  const order = orderByDates(
    labelDays,
    // Later than every label's date, and in the order of the rows' dates.
    days.map((day) => day + LONGEST_GAP_DAYS),
  );
  yield 0;
  const places = new Float64Array(order.length);
  for (const [place, i] of order.entries()) places[i] = place;
  let at = 0;
  const own = panels.map((panel) => {
    const from = at;
    at += panel[part].length;
    return places.subarray(from, at);
  });
  return { rows: order.length, places: own, labelDays: valuesAt(labelDays, order) };
}

/** @param labelDays shape (fit rows), ascending. */
function* foldsOf(
  panels: readonly PooledRows[],
  labelDays: Int32Array,
  testSize: number,
  nSplits: number,
): Pausable<PooledFold[]> {
  const distinct = new Set<Day>();
  for (const { fit, days } of panels) {
    yield 0;
    for (const row of fit) distinct.add(days[row]!);
  }
  const dates = Int32Array.from(distinct).sort();
  const n = dates.length;
  const k = Math.max(0, Math.min(nSplits, Math.floor((n - LEAST_FIT_ROWS) / testSize)));
  const firsts = Array.from({ length: k }, (_, j) => dates[n - (k - j) * testSize]!);
  const ends = firsts.map((day) => countUpTo(labelDays, day));
  return firsts.map((from, j) => ({ from, trainEnd: ends[j]!, testEnd: ends[j + 1] ?? labelDays.length }));
}

function foldsOfTicker(
  { fit, days, labelDays }: PooledRows,
  folds: readonly PooledFold[],
): (Fold & { readonly fold: number })[] {
  const ownDays = Int32Array.from(fit, (row) => days[row]!);
  const ownLabelDays = Int32Array.from(fit, (row) => labelDays[row]!);
  return folds.flatMap(({ from }, fold) => {
    const next = folds[fold + 1]?.from;
    const range = {
      trainEnd: countUpTo(ownLabelDays, from),
      testStart: countUpTo(ownDays, from - 1),
      testEnd: next === undefined ? fit.length : countUpTo(ownLabelDays, next),
    };
    const isTested = range.trainEnd >= LEAST_FIT_ROWS && range.testEnd > range.testStart;
    return isTested ? [{ fold, ...range }] : [];
  });
}

/** How many of the ascending values are at most `limit`. */
function countUpTo(values: Int32Array, limit: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle]! <= limit) from = middle + 1;
    else to = middle;
  }
  return from;
}
