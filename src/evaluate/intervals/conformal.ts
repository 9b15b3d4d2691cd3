import type { Intervals } from "../../contract/config/panel-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Warning } from "../../contract/problems/warnings.ts";

export type Bound = Intervals["bound"];

/** Interval ends, shape (n) each: log-returns; NaN if there is none, which the output writes as null. */
export interface Bounds {
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

/** Forecasts of rows that the model did not learn from, by date, with the finite labels of those rows: shape (m) each. */
export interface Residuals {
  readonly realised: Float64Array;
  readonly predicted: Float64Array;
}

/** Residuals with the dates of their rows, ascending, and the dates at whose close their labels are known: shape (m) each. */
export interface DatedResiduals extends Residuals {
  readonly days: Int32Array;
  readonly labelDays: Int32Array;
}

/** Score rows of one ticker, as needed for their intervals: like residuals, but `realised` is NaN if there is no label yet. */
export interface IntervalRows extends DatedResiduals {
  /** Standard deviation of the last returns known at the row's date, NaN if there are too few. */
  readonly volatility: Float64Array;
}

/** The size of a miss on the bounded side. @param miss y - p. */
export function conformityScore(miss: number, bound: Bound): number {
  if (bound === "both") return Math.abs(miss);
  return bound === "lower" ? -miss : miss;
}

/** Keeps rounding from raising a whole (m + 1)(1 - alpha) to the next rank. */
const RANK_TOLERANCE = 1e-9;

/**
 * The rank of the quantile among m ascending scores, counted from 1: ceil((m + 1)(1 - alpha)), the split conformal rank (Vovk et al.,
 * "Algorithmic Learning in a Random World"; Lei et al. 2018). If it exceeds m, no score is high enough.
 */
export function conformalRank(m: number, alpha: number): number {
  return Math.max(1, Math.ceil((m + 1) * (1 - alpha) - RANK_TOLERANCE));
}

/**
 * The conformal quantile of the scores.
 * @param alpha in (0, 1): the share of labels that may fall outside.
 * @returns undefined if m scores support no finite interval at that alpha.
 */
export function conformalQuantile(scores: Float64Array, alpha: number): number | undefined {
  return scores.slice().sort()[conformalRank(scores.length, alpha) - 1];
}

/** Split conformal intervals: one distance for all forecasts, the conformal quantile of the residuals. @param predicted shape (n). */
export function splitIntervals(
  residuals: Residuals,
  predicted: Float64Array,
  alpha: number,
  bound: Bound,
): Bounds {
  const scores = residuals.realised.map((y, i) => conformityScore(y - residuals.predicted[i]!, bound));
  const distance = conformalQuantile(scores, alpha);
  const bounds = noBounds(predicted.length);
  if (distance === undefined) return bounds;
  for (const [row, p] of predicted.entries()) setEnds(bounds, row, p, distance, bound);
  return bounds;
}

export function noBounds(n: number): Bounds {
  return { lower: new Float64Array(n).fill(Number.NaN), upper: new Float64Array(n).fill(Number.NaN) };
}

/** Puts the interval of a row around its forecast. If an end would leave the range of a float64, the row has no interval at all. */
export function setEnds(bounds: Bounds, row: number, p: number, distance: number, bound: Bound): void {
  const low = bound === "upper" ? Number.NaN : p - distance;
  const high = bound === "lower" ? Number.NaN : p + distance;
  if (Math.abs(low) === Number.POSITIVE_INFINITY || Math.abs(high) === Number.POSITIVE_INFINITY) return;
  bounds.lower[row] = low;
  bounds.upper[row] = high;
}

export function hasNoEnds({ lower, upper }: Bounds, row: number): boolean {
  return Number.isNaN(lower[row]!) && Number.isNaN(upper[row]!);
}

/**
 * The warning of a ticker whose m residuals support no interval at the requested alpha.
 * @returns undefined if they do, and for m = 0, when no alpha would help because the ticker has no row to take a residual from.
 */
export function intervalUnsupported(ticker: string, m: number, alpha: number): Warning | undefined {
  if (m === 0 || conformalRank(m, alpha) <= m) return undefined;
  const [are, support] = m === 1 ? ["is", "it supports"] : ["are", "they support"];
  const message =
    `${ticker}: ${counted(m, "residual")} ${are} too few for a finite interval at alpha ${alpha}; ` +
    `the smallest alpha ${support} is ${smallestAlpha(m)}.`;
  return { code: "interval_unsupported", ticker, count: m, message };
}

/** The warning of a ticker without a row in the calibration part of a joint network. */
export function withoutResiduals(ticker: string): Warning {
  const message = `${ticker}: no row falls into the calibration part, so it has no interval.`;
  return { code: "interval_unsupported", ticker, count: 0, message };
}

/**
 * The smallest alpha with a finite interval, 1 / (m + 1), rounded up to six digits so that the number shown works.
 * @param m at least 1.
 */
export function smallestAlpha(m: number): number {
  const exact = 1 / (m + 1);
  const unit = 10 ** (Math.floor(Math.log10(exact)) - 5);
  return Number((Math.ceil(exact / unit - RANK_TOLERANCE) * unit).toPrecision(6));
}
