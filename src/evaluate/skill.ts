import type { Pausable } from "../contract/machine/pausable.ts";
import { meanForecast, zeroForecast } from "./baselines.ts";
import { type ForecastRows, inTickerOrder } from "./forecast-rows.ts";
import { LEAST_DATES, neweyWestQuantile, neweyWestT } from "./newey-west.ts";
import { type DateLayout, dateLayout, laidByDate } from "./rows-by-date.ts";
import { deviation, mean, rootMeanSquare } from "./statistics.ts";

/**
 * A forecast this near to a baseline, in root mean squares of the ticker's labels, is the baseline: a model that learned
 * a mean alone has it with the rounding of its library, and the t of that rounding would say nothing.
 */
const SAME = 1e-6;

/** Gains that differ by this share of the squares that they are made of are equal: the rest is rounding. */
const ROUNDING = 1e-12;

/** What forecasts have to be better than: 0, and the mean of the labels that the model learned from. */
export type SkillBaseline = "zero" | "mean";

/** How far forecasts were better than each baseline. */
export interface Skill {
  readonly dates: number;
  /** What each t has to reach: chance does once in twenty times. Null where the dates are too few to show anything. */
  readonly asked: number | null;
  /**
   * Infinite, with the sign of the gains, where these are equal but for rounding. Null where they are 0 but for rounding, as where
   * every forecast is the baseline itself, and without a date.
   */
  readonly t: Readonly<Record<SkillBaseline, number | null>>;
}

/**
 * Tests whether forecasts were better than each baseline, over all tickers at once: the t (Newey-West) of the date means of
 * ((y - r)² - (y - p)²) / mean y² of the ticker, r being 0 or the row's training mean. Tickers of a date move together, so a
 * date counts as one value.
 * @param rows that the models did not learn from, all labelled: a label of NaN leaves no t. Tickers in any order. One whose labels
 *   are all 0 does not count, nor does one without rows.
 */
export function* skillOf(rows: readonly ForecastRows[]): Pausable<Skill> {
  const scaled: ForecastRows[] = [];
  for (const row of inTickerOrder(rows)) {
    yield 0;
    const { realised, predicted, trainingMean } = row;
    const unit = realised.length === 0 ? 0 : rootMeanSquare(realised);
    if (unit === 0) continue;
    const inUnits = (values: Float64Array) => values.map((value) => value / unit);
    scaled.push({
      ...row,
      realised: inUnits(realised),
      predicted: inUnits(predicted),
      trainingMean: inUnits(trainingMean),
    });
  }
  const layout = yield* dateLayout(scaled);
  const againstZero = yield* dateGains(scaled, layout, zeroForecast);
  const againstMean = yield* dateGains(scaled, layout, meanForecast);
  const dates = againstZero.byDate.length;
  return {
    dates,
    asked: dates < LEAST_DATES ? null : neweyWestQuantile(dates),
    t: { zero: gainT(againstZero), mean: gainT(againstMean) },
  };
}

/** Whether forecasts were better than a baseline by more than chance. */
export function isSkilled({ asked, t }: Skill, baseline: SkillBaseline): boolean {
  const found = t[baseline];
  return found !== null && asked !== null && found >= asked;
}

interface Gains {
  /** Shape (dates): the mean gain of each date's rows. */
  readonly byDate: Float64Array;
  /** The mean over rows of y² + p² + r², in units of their ticker. */
  readonly squares: number;
}

/** @param rows in units of their ticker. */
function* dateGains(
  rows: readonly ForecastRows[],
  layout: DateLayout,
  baseline: (rows: ForecastRows) => Float64Array,
): Pausable<Gains> {
  const gains: Float64Array[] = [];
  let squares = 0;
  for (const row of rows) {
    yield 0;
    const { realised, predicted } = row;
    const reference = baseline(row);
    gains.push(realised.map((y, i) => gain(y, predicted[i]!, reference[i]!)));
    for (const values of [realised, predicted, reference]) {
      for (let i = 0; i < values.length; i++) squares += values[i]! * values[i]!;
    }
  }
  const laid = yield* laidByDate(layout, gains);
  const means: number[] = [];
  for (let d = 0; d + 1 < layout.starts.length; d++) {
    const ofDate = laid.subarray(layout.starts[d]!, layout.starts[d + 1]!);
    if (ofDate.length > 0) means.push(mean(ofDate));
  }
  return { byDate: Float64Array.from(means), squares: squares / laid.length };
}

/** As `Skill` has it. A t of rounding over rounding would be chance. */
function gainT({ byDate, squares }: Gains): number | null {
  const floor = ROUNDING * squares;
  if (deviation(byDate) > floor) return neweyWestT(byDate);
  const gained = mean(byDate);
  if (gained > floor) return Number.POSITIVE_INFINITY;
  return gained < -floor ? Number.NEGATIVE_INFINITY : null;
}

/** (y - r)² - (y - p)², without the squares' cancellation. */
function gain(y: number, p: number, r: number): number {
  const step = p - r;
  return Math.abs(step) <= SAME ? 0 : step * (2 * y - p - r);
}
