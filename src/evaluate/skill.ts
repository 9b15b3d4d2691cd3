import type { Pausable } from "../contract/machine/pausable.ts";
import { meanForecast, zeroForecast } from "./baselines.ts";
import { type ForecastRows, inTickerOrder } from "./forecast-rows.ts";
import { neweyWestT } from "./newey-west.ts";
import { type DateLayout, dateLayout, laidByDate } from "./rows-by-date.ts";
import { mean, rootMeanSquare } from "./statistics.ts";

/** The normal quantile of 0.95: gains that are 0 on average reach it once in twenty times, over few dates more often. */
export const SKILLED_T = 1.645;

/**
 * A forecast this near to a baseline, in root mean squares of the ticker's labels, is the baseline: a model that learned
 * a mean alone has it with the rounding of its library, and the t of that rounding would say nothing.
 */
const SAME = 1e-6;

/** What forecasts have to be better than: 0, and the mean of the labels that the model learned from. */
export type SkillBaseline = "zero" | "mean";

/** How far forecasts were better than each baseline. */
export interface Skill {
  readonly dates: number;
  /** Null where the dates give none, as where every forecast is the baseline itself. */
  readonly t: Readonly<Record<SkillBaseline, number | null>>;
}

/**
 * Tests whether forecasts were better than each baseline, over all tickers at once: the t (Newey-West) of the date means of
 * ((y - r)² - (y - p)²) / mean y² of the ticker, r being 0 or the row's training mean. Tickers of a date move together, so a
 * date counts as one value.
 * @param rows that the models did not learn from, all labelled; tickers in any order. A ticker whose labels are all 0 does
 *   not count.
 */
export function* skillOf(rows: readonly ForecastRows[]): Pausable<Skill> {
  const scaled: ForecastRows[] = [];
  for (const row of inTickerOrder(rows)) {
    yield 0;
    const unit = rootMeanSquare(row.realised);
    if (!(unit > 0)) continue;
    const { realised, predicted, trainingMean } = row;
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
  return {
    dates: againstZero.length,
    t: { zero: neweyWestT(againstZero), mean: neweyWestT(againstMean) },
  };
}

/** Whether forecasts were better by more than chance. */
export function isSkilled(t: number | null): boolean {
  return t !== null && t >= SKILLED_T;
}

/** Shape (dates): the mean gain of each date's rows. @param rows in units of their ticker. */
function* dateGains(
  rows: readonly ForecastRows[],
  layout: DateLayout,
  baseline: (rows: ForecastRows) => Float64Array,
): Pausable<Float64Array> {
  const gains: Float64Array[] = [];
  for (const row of rows) {
    yield 0;
    const { realised, predicted } = row;
    const reference = baseline(row);
    gains.push(realised.map((y, i) => gain(y, predicted[i]!, reference[i]!)));
  }
  const laid = yield* laidByDate(layout, gains);
  const means: number[] = [];
  for (let d = 0; d + 1 < layout.starts.length; d++) {
    const ofDate = laid.subarray(layout.starts[d]!, layout.starts[d + 1]!);
    if (ofDate.length > 0) means.push(mean(ofDate));
  }
  return Float64Array.from(means);
}

/** (y - r)² - (y - p)², without the squares' cancellation. */
function gain(y: number, p: number, r: number): number {
  const step = p - r;
  return Math.abs(step) <= SAME ? 0 : step * (2 * y - p - r);
}
