import { atOnce } from "../../contract/machine/pausable.ts";
import { type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import { eachDate, type RowsByDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import { type DateSums, ratioOverDates } from "./over-dates.ts";

type Term = (realised: number, predicted: number) => number;

/** What a row adds to the sums of its date. */
export interface RowTerms {
  readonly numerator: Term;
  readonly denominator: Term;
}

/** R² against 0: 1 - sum (y - p)² / sum y². */
export const R2_ZERO: RowTerms = {
  numerator: (y, p) => y * y - (y - p) ** 2,
  denominator: (y) => y * y,
};

const isSigned = (y: number, p: number) => y !== 0 && p !== 0;

/** The share of equal signs, over rows where neither side is 0. */
export const HIT_RATE: RowTerms = {
  numerator: (y, p) => (isSigned(y, p) && y > 0 === p > 0 ? 1 : 0),
  denominator: (y, p) => (isSigned(y, p) ? 1 : 0),
};

/** Sums by date, ascending, for dates whose denominator is above 0. @param rows labelled. */
export function dateSums(rows: RowsByDate, { numerator, denominator }: RowTerms): DateSums {
  const numerators: number[] = [];
  const denominators: number[] = [];
  for (const { realised, predicted } of eachDate(rows)) {
    let [above, below] = [0, 0];
    for (let i = 0; i < realised.length; i++) {
      above += numerator(realised[i]!, predicted[i]!);
      below += denominator(realised[i]!, predicted[i]!);
    }
    if (!(below > 0)) continue;
    numerators.push(above);
    denominators.push(below);
  }
  return { numerators: Float64Array.from(numerators), denominators: Float64Array.from(denominators) };
}

/**
 * The standard error of the hit rate with dates as units: the tickers of a date move together, so the binomial error over rows is too
 * small.
 * @param rows labelled or not.
 * @returns null for fewer than MIN_DATES dates with a signed row.
 */
export function hitRateErrorOf(rows: readonly ForecastRows[]): number | null {
  return ratioOverDates(dateSums(atOnce(sortedByDate(rows.map(labelled))), HIT_RATE)).error;
}
