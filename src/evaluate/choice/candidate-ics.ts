import { correlation, finiteOrNull, isConstant, mean } from "../statistics.ts";
import type { LossSeries, TestedTicker } from "./candidate-losses.ts";

/** Fewer tickers on a date have no IC, as in the verdict. */
export const MIN_IC_TICKERS = 5;

/** Rows by label date. */
interface RowsByLabelDate {
  /** Shape (D), ascending. */
  readonly days: Int32Array;
  /** Shape (D + 1): the rows of date d are [starts[d], starts[d + 1]), tickers ascending. */
  readonly starts: Int32Array;
  /** Shape (n). */
  readonly realised: Float64Array;
  /** A candidate's forecasts, shape (n). */
  readonly predictedBy: (candidate: number) => Float64Array;
}

/**
 * The ICs of candidates by label date, as losses: the excess of a candidate is the reference's IC less its own, on the tickers that both
 * forecast. NaN on dates with fewer than MIN_IC_TICKERS such tickers, or whose labels are all the same.
 * @param tickers ascending by code point, which is the order of the sums.
 */
export function icSeries(
  tickers: readonly TestedTicker[],
  candidates: number,
  reference: number,
): LossSeries {
  const rows = byLabelDate(tickers);
  const base = rows.predictedBy(reference);
  const excess: Float64Array[] = [];
  for (let c = 0; c < candidates; c++) {
    const own = rows.predictedBy(c);
    excess.push(
      eachDate(rows, (from, to) => {
        const [labels, ours, theirs] = common(rows.realised, own, base, from, to);
        return icOf(labels, theirs) - icOf(labels, ours);
      }),
    );
  }
  return { days: rows.days, reference, excess };
}

/** The mean IC over label dates of the forecasts of one candidate; null without a date that has an IC. */
export function meanIc(tickers: readonly TestedTicker[], candidate: number): number | null {
  const rows = byLabelDate(tickers);
  const own = rows.predictedBy(candidate);
  const ics = eachDate(rows, (from, to) => {
    const [labels, ours] = common(rows.realised, own, own, from, to);
    return icOf(labels, ours);
  });
  return finiteOrNull(mean(ics.filter((ic) => !Number.isNaN(ic))));
}

/** Forecasts that are all the same have no order, which is an IC of 0. NaN if labels do not allow an IC. */
function icOf(labels: Float64Array, predicted: Float64Array): number {
  if (labels.length < MIN_IC_TICKERS || isConstant(labels)) return Number.NaN;
  return correlation(labels, predicted) ?? 0;
}

function eachDate(
  { days, starts }: RowsByLabelDate,
  dateValue: (from: number, to: number) => number,
): Float64Array {
  return Float64Array.from(days, (_, d) => dateValue(starts[d]!, starts[d + 1]!));
}

/** Labels and both forecasts of the rows in [from, to) that have both. */
function common(
  realised: Float64Array,
  own: Float64Array,
  base: Float64Array,
  from: number,
  to: number,
): readonly [labels: Float64Array, own: Float64Array, base: Float64Array] {
  const kept = [...new Float64Array(to - from).keys()]
    .map((i) => from + i)
    .filter((row) => !Number.isNaN(own[row]!) && !Number.isNaN(base[row]!));
  const at = (values: Float64Array) => Float64Array.from(kept, (row) => values[row]!);
  return [at(realised), at(own), at(base)];
}

function byLabelDate(tickers: readonly TestedTicker[]): RowsByLabelDate {
  const counts = new Map<number, number>();
  for (const { labelDays } of tickers)
    for (const day of labelDays) counts.set(day, (counts.get(day) ?? 0) + 1);
  const days = Int32Array.from(counts.keys()).sort();
  const starts = new Int32Array(days.length + 1);
  for (const [d, day] of days.entries()) starts[d + 1] = starts[d]! + counts.get(day)!;
  const next = new Map(Array.from(days, (day, d) => [day, starts[d]!]));
  const places = tickers.map(({ labelDays }) =>
    labelDays.map((day) => {
      const place = next.get(day)!;
      next.set(day, place + 1);
      return place;
    }),
  );
  const inOrder = (valuesOf: (ticker: TestedTicker) => Float64Array) => {
    const ordered = new Float64Array(starts.at(-1)!);
    for (const [i, ticker] of tickers.entries()) {
      const values = valuesOf(ticker);
      for (const [row, place] of places[i]!.entries()) ordered[place] = values[row]!;
    }
    return ordered;
  };
  return {
    ...{ days, starts },
    realised: inOrder((ticker) => ticker.realised),
    predictedBy: (c) => inOrder((ticker) => ticker.predicted[c]!),
  };
}
