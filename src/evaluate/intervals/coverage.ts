import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Coverage, IntervalEvidence, JointMisses } from "../../contract/output/metrics-schemas.ts";
import { inTickerOrder } from "../forecast-rows.ts";
import { finiteOrNull } from "../statistics.ts";
import { type Bounds, hasNoEnds, type IntervalRows, type Residuals } from "./conformal.ts";

/** Score rows of one ticker with the ends of one method. */
export interface CoveredRows extends Omit<IntervalRows, "labelDays">, Bounds {
  readonly ticker: string;
  /**
   * Residuals with the ends from the residuals before them; undefined if there are too few. Absent for a method that cannot be tested on
   * residuals alone.
   */
  readonly prequential?: (Bounds & Residuals) | undefined;
}

/** Tickers ascend by code point. */
export interface CoverageTable {
  readonly pooled: IntervalEvidence;
  /** Shape (VOLATILITY_GROUPS), over all tickers: the tenths of each ticker's labelled rows by volatility, quietest first. */
  readonly by_volatility: Coverage[];
  readonly joint_misses: JointMisses;
  readonly by_ticker: ReadonlyMap<string, IntervalEvidence>;
}

/** The number of successive rows whose lowest coverage is reported. */
const WORST_ROWS = 250;

/** The share of a ticker's labelled rows that count as days of high volatility. */
const HIGH_VOLATILITY_SHARE = 0.1;

/** The number of groups of a ticker's labelled rows by volatility, as equal in size as possible. */
const VOLATILITY_GROUPS = 10;

/** The number of tickers with an outcome that a date needs to show whether they missed together. */
const MIN_DATE_TICKERS = 5;

/**
 * How often labels fell inside their intervals, ends included, and what the intervals cost, per ticker and pooled: over the score rows with
 * a label and ends, by calendar year, on days of high volatility, and for the worst stretch; pooled by volatility; and the number of dates
 * on which tickers missed together.
 * @param rows tickers in any order, which does not change a byte of the table.
 */
export function coverageTable(rows: readonly CoveredRows[], alpha: number): CoverageTable {
  const by_ticker = new Map<string, IntervalEvidence>();
  const pooled = new Evidence();
  const byVolatility = Array.from({ length: VOLATILITY_GROUPS }, () => new Tally());
  const byDate = new Map<Day, { outcomes: number; misses: number }>();
  for (const row of inTickerOrder(rows)) {
    const own = new Evidence();
    const labelled = labelledPlaces(row.realised);
    const volatile = mostVolatileFirst(labelled, row.volatility);
    const high = new Set(volatile.subarray(0, Math.floor(labelled.length * HIGH_VOLATILITY_SHARE)));
    const groups = volatilityGroups(volatile);
    const misses: boolean[] = [];
    for (const i of labelled) {
      if (hasNoEnds(row, i)) continue;
      const outcome = scored(row, i, alpha);
      const day = row.days[i]!;
      for (const evidence of [own, pooled]) evidence.count(outcome, day, high.has(i));
      const group = groups.get(i);
      if (group !== undefined) byVolatility[group]!.count(outcome);
      const date = byDate.get(day) ?? { outcomes: 0, misses: 0 };
      byDate.set(day, date);
      date.outcomes++;
      if (!outcome.isInside) date.misses++;
      misses.push(!outcome.isInside);
    }
    own.worst = worstCoverage(misses);
    if (own.worst !== null) pooled.worst = Math.min(pooled.worst ?? own.worst, own.worst);
    const { prequential } = row;
    for (let i = 0; prequential !== undefined && i < prequential.realised.length; i++) {
      if (hasNoEnds(prequential, i)) continue;
      for (const evidence of [own, pooled]) evidence.prequential.count(scored(prequential, i, alpha));
    }
    by_ticker.set(row.ticker, own.summary("prequential" in row));
  }
  const judged = [...byDate.values()].filter(({ outcomes }) => outcomes >= MIN_DATE_TICKERS);
  const half_missed = judged.filter(({ outcomes, misses }) => 2 * misses >= outcomes).length;
  return {
    pooled: pooled.summary(rows.some((row) => "prequential" in row)),
    by_volatility: byVolatility.map((tally) => tally.summary()),
    joint_misses: { dates: judged.length, half_missed },
    by_ticker,
  };
}

/** Whether a label is in its interval, and what the interval cost. */
interface Outcome {
  readonly isInside: boolean;
  readonly score: number;
  /** Undefined for a one-sided interval. */
  readonly width?: number;
}

/** Sums over rows of one kind. */
class Tally {
  private n = 0;
  private inside = 0;
  private twoSided = 0;
  private width = 0;
  private score = 0;

  count({ isInside, score, width }: Outcome): void {
    this.n++;
    if (isInside) this.inside++;
    this.score += score;
    if (width === undefined) return;
    this.twoSided++;
    this.width += width;
  }

  summary(): Coverage {
    const { n, inside, twoSided, width, score } = this;
    return {
      n,
      coverage: finiteOrNull(inside / n),
      mean_width: finiteOrNull(width / twoSided),
      interval_score: finiteOrNull(score / n),
    };
  }
}

/** Sums for the intervals of one ticker, or of all. */
class Evidence {
  readonly prequential = new Tally();
  private readonly all = new Tally();
  private readonly byYear = new Map<string, Tally>();
  private readonly highVolatility = new Tally();
  worst: number | null = null;

  count(outcome: Outcome, day: Day, isVolatile: boolean): void {
    const year = formatDay(day).slice(0, 4);
    const yearly = this.byYear.get(year) ?? new Tally();
    this.byYear.set(year, yearly);
    this.all.count(outcome);
    yearly.count(outcome);
    if (isVolatile) this.highVolatility.count(outcome);
  }

  summary(isTested: boolean): IntervalEvidence {
    const years = [...this.byYear].sort(([a], [b]) => (a < b ? -1 : 1));
    const { n, coverage } = this.prequential.summary();
    return {
      ...this.all.summary(),
      by_year: Object.fromEntries(years.map(([year, tally]) => [year, tally.summary()])),
      high_volatility: this.highVolatility.summary(),
      worst_250: this.worst,
      ...(isTested ? { prequential: n === 0 ? null : { n, coverage } } : {}),
    };
  }
}

function labelledPlaces(realised: Float64Array): Int32Array {
  const places = new Int32Array(realised.length);
  let n = 0;
  for (let i = 0; i < realised.length; i++) if (!Number.isNaN(realised[i]!)) places[n++] = i;
  return places.subarray(0, n);
}

/**
 * The outcome of one row. Its score is that of Winkler (1972): the width, and 2 / alpha times the distance of a miss; for a one-sided
 * interval, the distance of its end from the forecast, and 1 / alpha times the distance of a miss (Gneiting and Raftery 2007).
 */
function scored(rows: Bounds & Residuals, i: number, alpha: number): Outcome {
  const y = rows.realised[i]!;
  const p = rows.predicted[i]!;
  const low = rows.lower[i]!;
  const high = rows.upper[i]!;
  const below = y < low ? low - y : 0;
  const above = y > high ? y - high : 0;
  const isInside = below === 0 && above === 0;
  if (Number.isNaN(low)) return { isInside, score: high - p + above / alpha };
  if (Number.isNaN(high)) return { isInside, score: p - low + below / alpha };
  return { isInside, score: high - low + (2 / alpha) * (below + above), width: high - low };
}

/** Rows of known volatility, highest first; earlier ones first if equal. */
function mostVolatileFirst(rows: Int32Array, volatility: Float64Array): Int32Array {
  const known = rows.filter((i) => !Number.isNaN(volatility[i]!));
  return known.sort((a, b) => volatility[b]! - volatility[a]! || a - b);
}

/** The group of each row, starting at 0 for the quietest; none for fewer rows than groups. @param rows the most volatile first. */
function volatilityGroups(rows: Int32Array): ReadonlyMap<number, number> {
  const n = rows.length;
  if (n < VOLATILITY_GROUPS) return new Map();
  const groupOf = (rank: number) => Math.floor((VOLATILITY_GROUPS * (n - 1 - rank)) / n);
  return new Map(Array.from(rows, (row, rank) => [row, groupOf(rank)]));
}

/** @returns null for fewer than WORST_ROWS rows. */
function worstCoverage(misses: readonly boolean[]): number | null {
  if (misses.length < WORST_ROWS) return null;
  let missed = 0;
  let most = 0;
  for (let i = 0; i < misses.length; i++) {
    if (misses[i]) missed++;
    if (i >= WORST_ROWS && misses[i - WORST_ROWS]) missed--;
    if (i >= WORST_ROWS - 1) most = Math.max(most, missed);
  }
  return (WORST_ROWS - most) / WORST_ROWS;
}

/**
 * The interval score of a method relative to another's, on the rows for which both have ends: the mean over tickers of the tickers' ratios,
 * null if no ticker has one.
 * @param pairs of one ticker each.
 */
export function scoreRatio(
  pairs: readonly (readonly [method: CoveredRows, other: CoveredRows])[],
  alpha: number,
): number | null {
  const ratios: number[] = [];
  for (const [method, other] of pairs) {
    let [own, others] = [0, 0];
    for (let i = 0; i < method.days.length; i++) {
      if (Number.isNaN(method.realised[i]!) || hasNoEnds(method, i) || hasNoEnds(other, i)) continue;
      own += scored(method, i, alpha).score;
      others += scored(other, i, alpha).score;
    }
    if (Number.isFinite(own / others)) ratios.push(own / others);
  }
  return finiteOrNull(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length);
}
