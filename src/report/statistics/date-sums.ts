import { atOnce } from "../../contract/machine/pausable.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { eachDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import type { DateSums } from "./over-dates.ts";

/** What a row adds to the sums of its date: to the numerator and to the denominator. */
export type RowTerms = (
  realised: number,
  predicted: number,
) => readonly [numerator: number, denominator: number];

/** R² against 0: 1 - sum (y - p)² / sum y². */
export const R2_ZERO: RowTerms = (y, p) => [y * y - (y - p) ** 2, y * y];

/** The share of equal signs, over rows where neither side is 0. */
export const HIT_RATE: RowTerms = (y, p) => (y === 0 || p === 0 ? [0, 0] : [y > 0 === p > 0 ? 1 : 0, 1]);

/** Sums by date, ascending, of dates whose denominator is above 0. @param rows labelled. */
export function dateSums(rows: readonly DatedForecasts[], terms: RowTerms): DateSums {
  const numerators: number[] = [];
  const denominators: number[] = [];
  for (const { realised, predicted } of eachDate(atOnce(sortedByDate(rows)))) {
    let [above, below] = [0, 0];
    for (let i = 0; i < realised.length; i++) {
      const [a, b] = terms(realised[i]!, predicted[i]!);
      above += a;
      below += b;
    }
    if (!(below > 0)) continue;
    numerators.push(above);
    denominators.push(below);
  }
  return { numerators: Float64Array.from(numerators), denominators: Float64Array.from(denominators) };
}
