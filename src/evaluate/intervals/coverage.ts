import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Coverage, IntervalEvidence, JointMisses } from "../../contract/output/metrics-schemas.ts";
import { inTickerOrder } from "../forecast-rows.ts";
import { dateLayout, dateSums, datesWith } from "../rows-by-date.ts";
import { finiteOrNull, mean } from "../statistics.ts";
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
  for (const row of inTickerOrder(rows)) {
    const own = new Evidence();
    const labelled = [...row.days.keys()].filter((i) => !Number.isNaN(row.realised[i]!));
    /** The rows of known volatility, highest first; earlier ones first if equal. */
    const volatile = labelled
      .filter((i) => !Number.isNaN(row.volatility[i]!))
      .sort((a, b) => row.volatility[b]! - row.volatility[a]! || a - b);
    const high = new Set(volatile.slice(0, Math.floor(labelled.length * HIGH_VOLATILITY_SHARE)));
    const n = volatile.length;
    const groupOf = new Map(
      volatile.map((i, rank) => [i, Math.floor((VOLATILITY_GROUPS * (n - 1 - rank)) / n)]),
    );
    const misses: boolean[] = [];
    for (const i of labelled) {
      if (hasNoEnds(row, i)) continue;
      const outcome = outcomeOf(row, i, alpha);
      for (const evidence of [own, pooled]) evidence.count(outcome, row.days[i]!, high.has(i));
      if (n >= VOLATILITY_GROUPS && groupOf.has(i)) byVolatility[groupOf.get(i)!]!.count(outcome);
      misses.push(!outcome.isInside);
    }
    own.worst = worstCoverage(misses);
    if (own.worst !== null) pooled.worst = Math.min(pooled.worst ?? own.worst, own.worst);
    const { prequential } = row;
    for (const i of prequential?.realised.keys() ?? []) {
      if (hasNoEnds(prequential!, i)) continue;
      for (const evidence of [own, pooled]) evidence.prequential.count(outcomeOf(prequential!, i, alpha));
    }
    by_ticker.set(row.ticker, own.summary("prequential" in row));
  }
  const { inside, counted } = coverageByDate(rows);
  const judged = [...counted.keys()].filter((d) => counted[d]! >= MIN_DATE_TICKERS);
  return {
    pooled: pooled.summary(rows.some((row) => "prequential" in row)),
    by_volatility: byVolatility.map((tally) => tally.summary()),
    joint_misses: {
      dates: judged.length,
      half_missed: judged.filter((d) => 2 * inside[d]! <= counted[d]!).length,
    },
    by_ticker,
  };
}

/**
 * The number of labels of a date with an interval, above 0, and how many lie inside, ends included: shape (dates) each, in time order.
 * @param rows dates ascending; NaN without a label.
 */
export function coverageByDate(
  rows: readonly (Bounds & { readonly days: Int32Array; readonly realised: Float64Array })[],
) {
  const judged = rows.map((row) => {
    const { days, realised, lower, upper } = row;
    const [kept, hits] = [new Int32Array(days.length), new Float64Array(days.length)];
    let n = 0;
    for (let i = 0; i < days.length; i++) {
      if (Number.isNaN(realised[i]!) || hasNoEnds(row, i)) continue;
      // A side without an end is NaN, and no label is beyond it.
      hits[n] = realised[i]! < lower[i]! || realised[i]! > upper[i]! ? 0 : 1;
      kept[n++] = days[i]!;
    }
    return { days: kept.subarray(0, n), hits: hits.subarray(0, n) };
  });
  const layout = dateLayout(judged);
  return {
    days: Int32Array.from(datesWith(layout), ({ day }) => day),
    inside: dateSums(
      layout,
      judged.map(({ hits }) => hits),
    ),
    counted: Float64Array.from(datesWith(layout), ({ from, to }) => to - from),
  };
}

/** Whether a label is in its interval, and what the interval cost. */
interface Outcome {
  readonly isInside: boolean;
  readonly score: number;
  /** NaN for a one-sided interval. */
  readonly width: number;
}

/**
 * The outcome of one row. Its score is that of Winkler (1972): the width, and 2 / alpha times the distance of a miss; for a one-sided
 * interval, the distance of its end from the forecast, and 1 / alpha times the distance of a miss (Gneiting and Raftery 2007).
 */
function outcomeOf(
  { realised, predicted, lower, upper }: Bounds & Residuals,
  i: number,
  alpha: number,
): Outcome {
  const [y, p, low, high] = [realised[i]!, predicted[i]!, lower[i]!, upper[i]!];
  const below = y < low ? low - y : 0;
  const above = y > high ? y - high : 0;
  const isInside = below === 0 && above === 0;
  const width = high - low;
  if (!Number.isNaN(width)) return { isInside, score: width + (2 / alpha) * (below + above), width };
  const reach = Number.isNaN(low) ? high - p : p - low;
  return { isInside, score: reach + (below + above) / alpha, width };
}

class Tally {
  #n = 0;
  #inside = 0;
  #twoSided = 0;
  #width = 0;
  #score = 0;

  count({ isInside, score, width }: Outcome): void {
    this.#n++;
    if (isInside) this.#inside++;
    this.#score += score;
    if (Number.isNaN(width)) return;
    this.#twoSided++;
    this.#width += width;
  }

  summary(): Coverage {
    return {
      n: this.#n,
      coverage: finiteOrNull(this.#inside / this.#n),
      mean_width: finiteOrNull(this.#width / this.#twoSided),
      interval_score: finiteOrNull(this.#score / this.#n),
    };
  }
}

/** Sums for the intervals of one ticker, or of all. */
class Evidence {
  readonly prequential = new Tally();
  worst: number | null = null;
  readonly #all = new Tally();
  readonly #byYear = new Map<string, Tally>();
  readonly #highVolatility = new Tally();

  count(outcome: Outcome, day: Day, isVolatile: boolean): void {
    const year = formatDay(day).slice(0, 4);
    if (!this.#byYear.has(year)) this.#byYear.set(year, new Tally());
    this.#byYear.get(year)!.count(outcome);
    this.#all.count(outcome);
    if (isVolatile) this.#highVolatility.count(outcome);
  }

  summary(isTested: boolean): IntervalEvidence {
    const years = [...this.#byYear].sort(([a], [b]) => (a < b ? -1 : 1));
    const { n, coverage } = this.prequential.summary();
    return {
      ...this.#all.summary(),
      by_year: Object.fromEntries(years.map(([year, tally]) => [year, tally.summary()])),
      high_volatility: this.#highVolatility.summary(),
      worst_250: this.worst,
      ...(isTested ? { prequential: n === 0 ? null : { n, coverage } } : {}),
    };
  }
}

/** @returns null for fewer than WORST_ROWS rows. */
function worstCoverage(misses: readonly boolean[]): number | null {
  if (misses.length < WORST_ROWS) return null;
  let [missed, most] = [0, 0];
  for (const [i, isMiss] of misses.entries()) {
    missed += Number(isMiss) - Number(misses[i - WORST_ROWS] ?? false);
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
  const ratios = pairs.map(([method, other]) => {
    let [own, others] = [0, 0];
    for (const [i, y] of method.realised.entries()) {
      if (Number.isNaN(y) || hasNoEnds(method, i) || hasNoEnds(other, i)) continue;
      own += outcomeOf(method, i, alpha).score;
      others += outcomeOf(other, i, alpha).score;
    }
    return own / others;
  });
  return finiteOrNull(mean(Float64Array.from(ratios.filter(Number.isFinite))));
}
