import type { Intervals } from "../../contract/config/panel-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Warning } from "../../contract/problems/warnings.ts";

/** Which side of a forecast is bounded. */
export type Bound = Intervals["bound"];

/** Interval ends, shape (n) each: log-returns; NaN if there is none, which the output writes as null. */
export interface Bounds {
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

/** What each bound means: the size of a miss y - p on the bounded side, and which ends an interval has. */
const BOUNDS: Readonly<
  Record<Bound, { readonly size: (miss: number) => number; readonly lower: boolean; readonly upper: boolean }>
> = {
  both: { size: Math.abs, lower: true, upper: true },
  lower: { size: (miss) => -miss, lower: true, upper: false },
  upper: { size: (miss) => miss, lower: false, upper: true },
};

/** The size of a miss on the bounded side. @param miss y - p. */
export function conformityScore(miss: number, bound: Bound): number {
  return BOUNDS[bound].size(miss);
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

/**
 * Split conformal intervals: one distance for all forecasts, the conformal quantile of the residuals.
 * @param predicted shape (n): forecasts of the score rows.
 */
export function splitIntervals(
  residuals: Residuals,
  predicted: Float64Array,
  alpha: number,
  bound: Bound,
): Bounds {
  const scores = residuals.realised.map((y, i) => conformityScore(y - residuals.predicted[i]!, bound));
  return intervalsAround(predicted, conformalQuantile(scores, alpha), bound);
}

/**
 * Puts the interval around forecasts: [p - q, p + q] for both, [p - q, none] for lower, [none, p + q] for upper.
 * @param quantile undefined for no interval.
 */
export function intervalsAround(predicted: Float64Array, quantile: number | undefined, bound: Bound): Bounds {
  const none = noBounds(predicted.length);
  if (quantile === undefined) return none;
  const { lower, upper } = BOUNDS[bound];
  return {
    lower: lower ? predicted.map((p) => endAt(p - quantile)) : none.lower,
    upper: upper ? predicted.map((p) => endAt(p + quantile)) : none.upper,
  };
}

/** Whether a row has no interval. */
export function hasNoEnds({ lower, upper }: Bounds, row: number): boolean {
  return Number.isNaN(lower[row]!) && Number.isNaN(upper[row]!);
}

/** Ends of n rows without an interval. */
export function noBounds(n: number): Bounds {
  return { lower: new Float64Array(n).fill(Number.NaN), upper: new Float64Array(n).fill(Number.NaN) };
}

/** An end beyond the range of a float64 is dropped, because JSON has no infinity. */
function endAt(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN;
}

/** The ends of one row at a distance from its forecast, NaN on a side without one. */
export interface Ends {
  readonly lower: number;
  readonly upper: number;
}

/** @returns undefined if an end would leave the range of a float64; such a row has no interval at all. */
export function endsAt(predicted: number, distance: number, bound: Bound): Ends | undefined {
  const { lower, upper } = BOUNDS[bound];
  const low = predicted - distance;
  const high = predicted + distance;
  if ((lower && !Number.isFinite(low)) || (upper && !Number.isFinite(high))) return undefined;
  return { lower: lower ? low : Number.NaN, upper: upper ? high : Number.NaN };
}

/**
 * The warning of a ticker whose m residuals support no interval at the requested alpha.
 * @returns undefined if they do, and for m = 0, when no alpha would help because the ticker has no row to take a residual from.
 */
export function intervalUnsupported(ticker: string, m: number, alpha: number): Warning | undefined {
  if (m === 0 || conformalRank(m, alpha) <= m) return undefined;
  return {
    code: "interval_unsupported",
    ticker,
    count: m,
    message:
      `${ticker}: ${counted(m, "residual")} ${m === 1 ? "is" : "are"} too few for a finite interval at alpha ${alpha}; ` +
      `the smallest alpha ${m === 1 ? "it supports" : "they support"} is ${smallestAlpha(m)}.`,
  };
}

/** The warning of a ticker without a row in the calibration part of a joint network. */
export function withoutResiduals(ticker: string): Warning {
  return {
    code: "interval_unsupported",
    ticker,
    count: 0,
    message: `${ticker}: no row falls into the calibration part, so it has no interval.`,
  };
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

/** Score rows of one ticker, ascending by date, as needed for its intervals and their evidence: shape (n) each. */
export interface IntervalRows {
  readonly days: Int32Array;
  /** The date at whose close the label is known; meaningless without a label. */
  readonly labelDays: Int32Array;
  /** NaN if there is no label. */
  readonly realised: Float64Array;
  readonly predicted: Float64Array;
  /** Standard deviation of the last returns known at the row's date, NaN if there are too few. */
  readonly volatility: Float64Array;
}

/** Residuals with the dates of their rows, ascending, and the dates at whose close their labels are known: shape (m) each. */
export interface DatedResiduals extends Residuals {
  readonly days: Int32Array;
  readonly labelDays: Int32Array;
}

/** Forecasts of rows that the model did not learn from, by date, with the finite labels of those rows: shape (m) each. */
export interface Residuals {
  readonly realised: Float64Array;
  readonly predicted: Float64Array;
}
