import type { Day } from "../../src/contract/market/dates.ts";
import { deviation, isConstant, mean } from "../../src/evaluate/statistics.ts";
import { evaluateForecasts } from "../../src/jobs/shared/evaluate-forecasts.ts";
import type { ModelledTicker } from "../../src/jobs/shared/modelled-ticker.ts";

/** What the seed changes in the forecasts of one option. */
export interface SeedFigures {
  /** Mean over the tickers of the mean correlation of the score rows' forecasts over all pairs of seeds. */
  readonly correlation: number;
  /** The expected correlation of two means of `size` networks each, without a common network. */
  readonly correlationOf: (size: number) => number;
  /** By seed: the mean forecast over tickers and rows, in deviations of each ticker's fit labels. */
  readonly levels: readonly number[];
  readonly one: ForecastQuality;
  /** The verdict on the mean of the forecasts of all seeds. */
  readonly together: ForecastQuality;
}

/** How good forecasts are; for several networks, each figure is their mean. */
export interface ForecastQuality {
  /** r2_zero of the mean over the tickers of a date. */
  readonly equalWeight: number;
  /** r2_zero pooled over all rows. */
  readonly pooled: number;
  readonly ic: number;
  /** Realised coverage of the intervals. */
  readonly coverage: number;
}

/** @param runs for each seed the tickers of a job, in the same order, with at least two seeds. */
export function seedFigures(runs: readonly (readonly ModelledTicker[])[], alpha: number): SeedFigures {
  const moments = runs[0]!.map((_, i) => momentsOf(runs.map((tickers) => tickers[i]!.score.predicted)));
  const correlationOf = (size: number) =>
    averageOf(
      moments.map(({ variance, covariance }) => ratio(size * covariance, variance + (size - 1) * covariance)),
    );
  const worths = runs.map((tickers) => worthOf(tickers, alpha));
  const average = (figure: (worth: ForecastQuality) => number) => averageOf(worths.map(figure));
  return {
    correlation: averageOf(moments.map((ticker) => ticker.correlation)),
    correlationOf,
    levels: runs.map((tickers) =>
      averageOf(tickers.map(({ score, fitLabels }) => mean(score.predicted) / deviation(fitLabels))),
    ),
    one: {
      equalWeight: average(({ equalWeight }) => equalWeight),
      pooled: average(({ pooled }) => pooled),
      ic: average(({ ic }) => ic),
      coverage: average(({ coverage }) => coverage),
    },
    together: worthOf(meanOf(runs), alpha),
  };
}

/** Over seeds, or pairs of seeds, for one ticker's forecasts. */
function momentsOf(forecasts: readonly Float64Array[]) {
  const centred = forecasts.map((values) => {
    if (isConstant(values)) return new Float64Array(values.length);
    const centre = mean(values);
    return values.map((value) => value - centre);
  });
  const pairs = centred.flatMap((a, i) => centred.slice(i + 1).map((b) => [a, b] as const));
  const product = (a: Float64Array, b: Float64Array) => mean(a.map((value, i) => value * b[i]!));
  const sizes = centred.map((values) => product(values, values));
  return {
    variance: averageOf(sizes),
    covariance: averageOf(pairs.map(([a, b]) => product(a, b))),
    correlation: averageOf(
      pairs.map(([a, b]) => ratio(product(a, b), Math.sqrt(product(a, a) * product(b, b)))),
    ),
  };
}

/** A correlation, 0 if its denominator is 0: a constant forecast agrees with none. */
function ratio(covariance: number, size: number): number {
  return size === 0 ? 0 : covariance / size;
}

function averageOf(values: readonly number[]): number {
  return mean(Float64Array.from(values));
}

/** The tickers with the mean of the forecasts of all runs. */
function meanOf(runs: readonly (readonly ModelledTicker[])[]): ModelledTicker[] {
  const averaged = (parts: readonly Float64Array[]) =>
    parts[0]!.map((_, row) => mean(Float64Array.from(parts, (part) => part[row]!)));
  return runs[0]!.map((ticker, i) => {
    const own = runs.map((tickers) => tickers[i]!);
    return {
      ...ticker,
      heldOut: { ...ticker.heldOut, predicted: averaged(own.map((one) => one.heldOut.predicted)) },
      residuals: { ...ticker.residuals, predicted: averaged(own.map((one) => one.residuals.predicted)) },
      score: { ...ticker.score, predicted: averaged(own.map((one) => one.score.predicted)) },
    };
  });
}

function worthOf(tickers: readonly ModelledTicker[], alpha: number): ForecastQuality {
  const asOf = tickers[0]!.score.days.at(-1)! as Day;
  const intervals = { alpha, bound: "both", method: "adaptive" } as const;
  const { tables } = evaluateForecasts(tickers, "calibration", { intervals, shrinkage: "none" }, asOf);
  return {
    equalWeight: equalWeightR2(tickers),
    pooled: tables.score.pooled.r2_zero!,
    ic: tables.score.cross_section.ic_mean!,
    coverage: tables.intervals!.pooled.coverage!,
  };
}

function equalWeightR2(tickers: readonly ModelledTicker[]): number {
  const dates = new Map<number, { label: number; predicted: number; count: number }>();
  for (const { score } of tickers) {
    for (const [row, day] of score.days.entries()) {
      const label = score.labels[row]!;
      if (Number.isNaN(label)) continue;
      const date = dates.get(day) ?? { label: 0, predicted: 0, count: 0 };
      dates.set(day, {
        label: date.label + label,
        predicted: date.predicted + score.predicted[row]!,
        count: date.count + 1,
      });
    }
  }
  let [errors, squares] = [0, 0];
  for (const { label, predicted, count } of dates.values()) {
    errors += ((label - predicted) / count) ** 2;
    squares += (label / count) ** 2;
  }
  return 1 - errors / squares;
}
