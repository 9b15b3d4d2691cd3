import { type Day, dayOfCivil, formatDay } from "../../contract/market/dates.ts";
import type {
  Coverage,
  IntervalEvidence,
  JointMisses,
  PrequentialCoverage,
} from "../../contract/output/metrics-schemas.ts";
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
  const isTested = rows.some((row) => "prequential" in row);
  const pooled = new Evidence(isTested);
  const byDate = new OutcomesByDate();
  for (const row of inTickerOrder(rows)) {
    const evidence = evidenceOf(row, alpha, byDate);
    pooled.add(evidence);
    by_ticker.set(row.ticker, evidence.summary());
  }
  return {
    pooled: pooled.summary(),
    by_volatility: pooled.byVolatility.map((tally) => tally.summary()),
    joint_misses: byDate.summary(),
    by_ticker,
  };
}

/** Sums over rows of one kind. */
class Tally {
  private n = 0;
  private inside = 0;
  private twoSided = 0;
  private width = 0;
  private score = 0;

  /** @param score the interval score of the row. @param width undefined for a one-sided interval. */
  count(isInside: boolean, score: number, width: number | undefined): void {
    this.n++;
    if (isInside) this.inside++;
    this.score += score;
    if (width === undefined) return;
    this.twoSided++;
    this.width += width;
  }

  add(other: Tally): void {
    this.n += other.n;
    this.inside += other.inside;
    this.twoSided += other.twoSided;
    this.width += other.width;
    this.score += other.score;
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
  readonly all = new Tally();
  readonly byYear = new Map<string, Tally>();
  readonly highVolatility = new Tally();
  readonly byVolatility = Array.from({ length: VOLATILITY_GROUPS }, () => new Tally());
  readonly prequential = new Tally();
  private readonly isTested: boolean;
  worst: number | null = null;

  constructor(isTested: boolean) {
    this.isTested = isTested;
  }

  year(name: string): Tally {
    const known = this.byYear.get(name);
    if (known !== undefined) return known;
    const tally = new Tally();
    this.byYear.set(name, tally);
    return tally;
  }

  add(other: Evidence): void {
    this.all.add(other.all);
    for (const [name, tally] of other.byYear) this.year(name).add(tally);
    this.highVolatility.add(other.highVolatility);
    for (const [group, tally] of this.byVolatility.entries()) tally.add(other.byVolatility[group]!);
    this.prequential.add(other.prequential);
    if (other.worst !== null && !(this.worst !== null && this.worst <= other.worst)) this.worst = other.worst;
  }

  summary(): IntervalEvidence {
    const years = [...this.byYear].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      ...this.all.summary(),
      by_year: Object.fromEntries(years.map(([year, tally]) => [year, tally.summary()])),
      high_volatility: this.highVolatility.summary(),
      worst_250: this.worst,
      ...(this.isTested ? { prequential: tested(this.prequential.summary()) } : {}),
    };
  }
}

function tested({ n, coverage }: Coverage): PrequentialCoverage | null {
  return n === 0 ? null : { n, coverage };
}

/** The number of tickers with an outcome on each date, and how many of them missed. */
class OutcomesByDate {
  private readonly dates = new Map<Day, { outcomes: number; misses: number }>();

  count(day: Day, isInside: boolean): void {
    const date = this.dates.get(day) ?? { outcomes: 0, misses: 0 };
    date.outcomes++;
    if (!isInside) date.misses++;
    this.dates.set(day, date);
  }

  summary(): JointMisses {
    const judged = [...this.dates.values()].filter(({ outcomes }) => outcomes >= MIN_DATE_TICKERS);
    const halfMissed = judged.filter(({ outcomes, misses }) => 2 * misses >= outcomes);
    return { dates: judged.length, half_missed: halfMissed.length };
  }
}

/** @param byDate accumulates the outcomes of the ticker. */
function evidenceOf(rows: CoveredRows, alpha: number, byDate: OutcomesByDate): Evidence {
  const evidence = new Evidence("prequential" in rows);
  const labelled = labelledPlaces(rows.realised);
  const volatile = mostVolatileFirst(labelled, rows.volatility);
  const high = new Set(volatile.subarray(0, Math.floor(labelled.length * HIGH_VOLATILITY_SHARE)));
  const groups = volatilityGroups(volatile);
  const misses: boolean[] = [];
  let year = new Year(0);
  let yearly: Tally | undefined;
  for (const i of labelled) {
    if (hasNoEnds(rows, i)) continue;
    const [isInside, score, width] = scored(rows, i, alpha);
    const day = rows.days[i]!;
    if (yearly === undefined || !year.holds(day)) {
      year = new Year(day);
      yearly = evidence.year(year.name);
    }
    evidence.all.count(isInside, score, width);
    yearly.count(isInside, score, width);
    if (high.has(i)) evidence.highVolatility.count(isInside, score, width);
    const group = groups.get(i);
    if (group !== undefined) evidence.byVolatility[group]!.count(isInside, score, width);
    byDate.count(day, isInside);
    misses.push(!isInside);
  }
  evidence.worst = worstCoverage(misses);
  const { prequential } = rows;
  for (let i = 0; prequential !== undefined && i < prequential.realised.length; i++) {
    if (!hasNoEnds(prequential, i)) evidence.prequential.count(...scored(prequential, i, alpha));
  }
  return evidence;
}

function labelledPlaces(realised: Float64Array): Int32Array {
  const places = new Int32Array(realised.length);
  let n = 0;
  for (let i = 0; i < realised.length; i++) if (!Number.isNaN(realised[i]!)) places[n++] = i;
  return places.subarray(0, n);
}

/**
 * Adds one row to a tally. Its score is that of Winkler (1972): the width, and 2 / alpha times the distance of a miss; for a one-sided
 * interval, the distance of its end from the forecast, and 1 / alpha times the distance of a miss (Gneiting and Raftery 2007).
 */
function scored(rows: Bounds & Residuals, i: number, alpha: number): Parameters<Tally["count"]> {
  const y = rows.realised[i]!;
  const p = rows.predicted[i]!;
  const low = rows.lower[i]!;
  const high = rows.upper[i]!;
  const below = y < low ? low - y : 0;
  const above = y > high ? y - high : 0;
  const isInside = below === 0 && above === 0;
  if (Number.isNaN(low)) return [isInside, high - p + above / alpha, undefined];
  if (Number.isNaN(high)) return [isInside, p - low + below / alpha, undefined];
  return [isInside, high - low + (2 / alpha) * (below + above), high - low];
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

/** The calendar year of a day, found once for all its days. */
class Year {
  readonly name: string;
  private readonly first: Day;
  private readonly last: Day;

  constructor(day: Day) {
    this.name = formatDay(day).slice(0, 4);
    this.first = dayOfCivil(Number(this.name), 1, 1)!;
    this.last = dayOfCivil(Number(this.name), 12, 31)!;
  }

  holds(day: Day): boolean {
    return this.first <= day && day <= this.last;
  }
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
      own += scored(method, i, alpha)[1];
      others += scored(other, i, alpha)[1];
    }
    if (Number.isFinite(own / others)) ratios.push(own / others);
  }
  return finiteOrNull(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length);
}
