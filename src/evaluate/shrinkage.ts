import type { ShrinkageChoice } from "../contract/config/panel-settings.ts";
import type { Shrinkage } from "../contract/output/metrics-schemas.ts";
import { concatenate, type DatedForecasts, inTickerOrder } from "./forecast-rows.ts";
import type { Residuals } from "./intervals/conformal.ts";
import { meanError } from "./mean-test.ts";
import { dateLayout, dateSums } from "./rows-by-date.ts";
import { deviation, finiteOrNull, largestMagnitude, mean, rootMeanSquare } from "./statistics.ts";
import { truncatedMean } from "./truncated-normal.ts";

/**
 * How far a model's forecasts can be trusted as sizes of returns: the slope b = sum(y p) / sum(p²) of labels on forecasts, null if every
 * forecast is 0, its standard error se = sqrt(sum(p² (y - b p)²)) / sum(p²), which is robust to changing volatility (White 1980), and
 * s = max(0, min(1, b - se)).
 * @param realised shape (n), labels of rows that the model did not learn from; `predicted` likewise.
 */
export function shrinkage(realised: Float64Array, predicted: Float64Array): Shrinkage {
  const n = realised.length;
  // Divided by the largest value of their side, so that squares stay in the range of a float64.
  const [largestLabel, largest] = [largestMagnitude(realised), largestMagnitude(predicted)];
  const y = realised.map((value) => (largestLabel === 0 ? 0 : value / largestLabel));
  const p = predicted.map((value) => value / largest);
  let [yp, pp] = [0, 0];
  for (let i = 0; i < n; i++) {
    yp += y[i]! * p[i]!;
    pp += p[i]! * p[i]!;
  }
  if (!(pp > 0)) return { n, b: null, se: null, s: 0 };
  const slope = yp / pp;
  let squares = 0;
  for (let i = 0; i < n; i++) squares += (p[i]! * (y[i]! - slope * p[i]!)) ** 2;
  const unit = largestLabel / largest;
  const b = slope * unit;
  const se = (Math.sqrt(squares) / pp) * unit;
  return { n, b: finiteOrNull(b), se: finiteOrNull(se), s: clipped(b - se) };
}

/**
 * Before any row is seen, a slope is normal with this mean and deviation, and between 0 and 1. Good configs have slopes of 0.02 to 0.63 on
 * panels of equities, models of noise 0. On 4,000 simulated panels for each cell of the table in docs/warnings.md, this prior cost at most
 * 0.051 points of R².
 */
const PRIOR_MEAN = 0.3;
const PRIOR_DEVIATION = 0.25;

/** The 95 % quantile of Student's t with 8 degrees of freedom: a slope that is negative by more errors points the wrong way. */
const NEGATIVE_T = 1.86;

/** Whether returns go against the forecasts by more than chance explains. */
export function isNegative({ b, se }: Pick<Shrinkage, "b" | "se">): boolean {
  return b !== null && se !== null && b + NEGATIVE_T * se < 0;
}

/**
 * The expected slope given its estimate: the mean of a normal truncated to [0, 1], whose precision is that of the estimate plus that of the
 * prior, and whose centre is their mean by precision. 0 if the estimate is negative by more than chance.
 */
export function posteriorSlope(b: number, se: number): number {
  if (isNegative({ b, se })) return 0;
  const deviation = 1 / Math.hypot(1 / se, 1 / PRIOR_DEVIATION);
  const weight = se === 0 ? 1 : (deviation / se) ** 2;
  return truncatedMean(PRIOR_MEAN + weight * (b - PRIOR_MEAN), deviation);
}

/**
 * The slope of labels on forecasts, both above the level of their date, with dates as units, because the tickers of a date move together.
 * They are in units of the ticker's root mean square label; their products N and squares D are summed by date, b = sum(N) / sum(D), and the
 * error is that of a ratio of totals: `meanError` of N - b D, divided by the mean of D (Cochran, "Sampling Techniques", 1977, 6.4). A
 * single date has no error, so its s is 0, as without rows.
 */
export function dateShrinkage(rows: readonly DatedForecasts[]): Shrinkage {
  const ordered = inTickerOrder(rows);
  const [products, squares]: [Float64Array[], Float64Array[]] = [[], []];
  for (const { realised, predicted, levels } of ordered) {
    const unit = realised.length === 0 ? 0 : rootMeanSquare(realised);
    const scale = (values: Float64Array) =>
      values.map((value, i) => (unit === 0 ? 0 : (value - (levels?.[i] ?? 0)) / unit));
    const [p, y] = [scale(predicted), scale(realised)];
    products.push(p.map((value, i) => value * y[i]!));
    squares.push(p.map((value) => value * value));
  }
  const layout = dateLayout(ordered);
  const n = layout.places.length;
  const [yp, pp] = [dateSums(layout, products), dateSums(layout, squares)];
  const weight = mean(pp);
  const b = weight > 0 ? finiteOrNull(mean(yp) / weight) : null;
  if (b === null) return { n, b, se: null, s: 0 };
  const error = meanError(yp.map((value, d) => value - b * pp[d]!));
  const se = error === null ? null : finiteOrNull(error / weight);
  return { n, b, se, s: pp.length < 2 ? 0 : posteriorSlope(b, se ?? 0) };
}

function clipped(value: number): number {
  return Math.max(0, Math.min(1, value || 0));
}

export interface Factors {
  readonly byTicker: ReadonlyMap<string, number>;
  /** The slope over all tickers that they come from; absent with `none` and `own`. */
  readonly slope?: Shrinkage;
}

/**
 * The factor for the forecasts of each ticker: 1 without shrinkage.
 * @param rows that the models did not learn from, all labelled, with the models' own forecasts.
 */
export function shrinkageFactors(choice: ShrinkageChoice, rows: readonly DatedForecasts[]): Factors {
  const factors = (of: (row: DatedForecasts) => number) => new Map(rows.map((row) => [row.ticker, of(row)]));
  if (choice === "none") return { byTicker: factors(() => 1) };
  if (choice === "own") return { byTicker: factors((row) => shrinkage(row.realised, row.predicted).s) };
  const slope = dateShrinkage(rows);
  if (choice === "pooled") return { byTicker: factors(() => slope.s), slope };
  return { byTicker: empiricalBayesFactors(rows, slope.s), slope };
}

/**
 * Each ticker's slope, pulled towards the pooled factor c by how uncertain it is: (b / se² + c / v) / (1 / se² + 1 / v), within [0, 1]. v is
 * the variance of the true slopes between tickers by the moments of DerSimonian and Laird (1986, "Meta-analysis in clinical trials"); if it
 * is 0, every ticker gets c.
 */
function empiricalBayesFactors(rows: readonly DatedForecasts[], c: number): Factors["byTicker"] {
  const slopes = inTickerOrder(rows).map(({ ticker, realised, predicted }) => {
    const { b, se } = shrinkage(realised, predicted);
    return { ticker, b: b ?? 0, weight: b === null || se === null || !(se > 0) ? 0 : 1 / se ** 2 };
  });
  const known = slopes.filter(({ weight }) => weight > 0);
  const sum = (of: (slope: (typeof slopes)[number]) => number) =>
    known.reduce((total, slope) => total + of(slope), 0);
  const weights = sum(({ weight }) => weight);
  const centre = sum(({ b, weight }) => b * weight) / weights;
  const spread = sum(({ b, weight }) => weight * (b - centre) ** 2);
  const variance = (spread - (known.length - 1)) / (weights - sum(({ weight }) => weight ** 2) / weights);
  const between = Math.max(0, finiteOrNull(variance) ?? 0);
  const factors = slopes.map(({ ticker, b, weight }) => {
    if (weight === 0 || between === 0) return [ticker, c] as const;
    return [ticker, clipped((b * weight + c / between) / (weight + 1 / between))] as const;
  });
  return new Map(factors);
}

/**
 * The shrinkage of each ticker, ascending by code point, and of all rows together; `by_date` is the slope that `shrinkage: "pooled"` uses.
 * @param rows that the models did not learn from, all labelled; tickers in any order.
 */
export function shrinkageTable(rows: readonly DatedForecasts[]) {
  const ordered = inTickerOrder(rows);
  const all = (of: (row: DatedForecasts) => Float64Array) => concatenate(ordered.map(of));
  return {
    pooled: shrinkage(
      all((row) => row.realised),
      all((row) => row.predicted),
    ),
    by_date: dateShrinkage(ordered),
    by_ticker: new Map(ordered.map((row) => [row.ticker, shrinkage(row.realised, row.predicted)])),
  };
}

/** A slope of labels on forecasts below this means that forecasts are at least twice as large as they should be. */
const MIN_SLOPE = 0.5;

/** In units of a ticker's label deviation: returns are mostly noise, so good forecasts move far less than labels. */
const MAX_TEST_RATIO = 0.5;
const MAX_OVERSIZED_RATIO = 1;
const MAX_RATIO = 2;

/** Fewer score rows say little about how far forecasts spread. */
const MIN_SCORE_ROWS = 20;

/** Forecasts on score rows may spread this much wider than the tested ones. */
const WIDENING = 3;

interface SizedForecasts {
  /** Shape (n): labels of the fit rows. */
  readonly fitLabels: Float64Array;
  /** Rows that the model did not learn from, with their labels. */
  readonly heldOut: Residuals;
  /** Shape (m): forecasts of the score rows. */
  readonly score: Float64Array;
  /** Undefined if the ticker has none. */
  readonly mu: number | undefined;
}

/**
 * Whether forecasts are too large to be believed, in units of the deviation (ddof 0) of the fit labels: their deviation out of sample is
 * above 0.5 while their slope is below 0.5; or on 20 or more score rows it is above 0.5 and above 3 times that out of sample; or |mu| is
 * above 2, or above 1 while the slope is below 0.5. A missing slope counts as 0.
 */
export function isWild({ fitLabels, heldOut, score, mu = 0 }: SizedForecasts): boolean {
  const label = deviation(fitLabels);
  const isOversized = (shrinkage(heldOut.realised, heldOut.predicted).b ?? 0) < MIN_SLOPE;
  const tested = deviation(heldOut.predicted);
  if (tested > MAX_TEST_RATIO * label && isOversized) return true;
  const scored = deviation(score);
  if (score.length >= MIN_SCORE_ROWS && scored > MAX_TEST_RATIO * label && scored > WIDENING * tested)
    return true;
  return Math.abs(mu) > (isOversized ? MAX_OVERSIZED_RATIO : MAX_RATIO) * label;
}
