import { zeroForecast } from "../baselines.ts";
import { type ForecastRows, inTickerOrder } from "../forecast-rows.ts";
import { dateT } from "../mean-test.ts";
import { type DateLayout, dateLayout, dateSums, datesWith } from "../rows-by-date.ts";
import { finiteOrNull, rootMeanSquare } from "../statistics.ts";

/**
 * A forecast this close to a baseline, in root mean squares of the ticker's labels, counts as the baseline: a model that learned only a
 * mean equals it up to the rounding of its library, and the t of that rounding would say nothing.
 */
const SAME = 1e-6;

/** The baselines of forecasts: 0, and the mean of the labels that the model learned from. */
export type Baseline = "zero" | "mean";

/** Forecasts as sizes of returns, compared with one baseline. */
interface SizeTest {
  /**
   * The t of Clark and West (2007, "Approximately normal tests for equal predictive accuracy in nested models"): of (y - r)² - (y - p)² +
   * (p - r)², which is 2 (y - r)(p - r). The last square compensates the forecasts for their noise, so the t tests whether they explain
   * anything that the baseline r does not. It judges the model, so p are its forecasts before shrinkage (`ranked`).
   */
  readonly clarkWest: number | null;
  /** The t of (y - r)² - (y - p)²: whether the forecasts as they are, including noise, have the smaller squared error. */
  readonly squaredError: number | null;
  /** 1 - sum (y - p)² / sum (y - r)², in units of each ticker's root mean square label. */
  readonly r2: number | null;
}

export interface SizeTests extends Readonly<Record<Baseline, SizeTest>> {
  /** The number of dates with a row. */
  readonly dates: number;
}

/**
 * Tests forecasts as sizes of returns, over all tickers at once. Labels, forecasts and means are in units of the ticker's root mean square
 * label; terms are summed by date, because the tickers of a date move together.
 * @param rows that the models did not learn from, all labelled, tickers in any order. A ticker without rows, or whose labels are all 0,
 * does not count. If a training mean is NaN, there is no t against it.
 */
export function sizeTests(rows: readonly ForecastRows[]): SizeTests {
  const scaled = inTickerOrder(rows).flatMap((row): ForecastRows[] => {
    const { realised, predicted, trainingMean, ranked = predicted } = row;
    const unit = realised.length === 0 ? 0 : rootMeanSquare(realised);
    if (unit === 0) return [];
    const [y, p, m, r] = [realised, predicted, trainingMean, ranked].map((values) =>
      values.map((value) => value / unit),
    ) as [Float64Array, Float64Array, Float64Array, Float64Array];
    return [{ ...row, realised: y, predicted: p, trainingMean: m, ranked: r }];
  });
  const layout = dateLayout(scaled);
  return {
    dates: [...datesWith(layout)].length,
    zero: testAgainst(scaled, scaled.map(zeroForecast), layout),
    mean: testAgainst(
      scaled,
      scaled.map(({ trainingMean }) => trainingMean),
      layout,
    ),
  };
}

/** @param rows in units of their ticker. @param references the forecasts of a baseline, likewise. */
function testAgainst(
  rows: readonly ForecastRows[],
  references: readonly Float64Array[],
  layout: DateLayout,
): SizeTest {
  const [nested, raw]: [Float64Array[], Float64Array[]] = [[], []];
  /** The squares of labels, forecasts and the baseline's forecasts, whose rounding is in the terms. */
  let [squares, gained, errors] = [0, 0, 0];
  for (const [j, { realised, predicted, ranked = predicted }] of rows.entries()) {
    const reference = references[j]!;
    const [adjusted, plain] = [new Float64Array(realised.length), new Float64Array(realised.length)];
    for (const [i, y] of realised.entries()) {
      const [p, r] = [predicted[i]!, reference[i]!];
      squares += y * y + p * p + r * r;
      errors += (y - r) * (y - r);
      const own = ranked[i]! - r;
      if (Math.abs(own) > SAME) adjusted[i] = 2 * (y - r) * own;
      const step = p - r;
      if (Math.abs(step) <= SAME) continue;
      // (y - r)² - (y - p)², without the squares' cancellation.
      plain[i] = step * (2 * y - p - r);
      gained += plain[i]!;
    }
    nested.push(adjusted);
    raw.push(plain);
  }
  // The typical size of the squares in the terms, by date.
  const scale = squares / [...datesWith(layout)].length;
  return {
    clarkWest: dateT(dateSums(layout, nested), scale),
    squaredError: dateT(dateSums(layout, raw), scale),
    r2: finiteOrNull(gained / errors),
  };
}
