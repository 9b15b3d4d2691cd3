import { NEWEY_WEST_LAG } from "../../../contract/output/test-quantile.ts";
import { dateT, neweyWestError } from "../../../evaluate/mean-test.ts";
import { mean } from "../../../evaluate/statistics.ts";
import { expandingRanks, lessEarlierMean } from "../expanding-ranks.ts";
import { FAST_LIMIT, FeaturePace } from "../feature-pace.ts";
import type { TickerSurprises } from "../return-surprises.ts";
import { MIN_PAIRS, upperNormalQuantile } from "../significance.ts";
import { changes, type FeatureColumn } from "../ticker-history.ts";
import { type DateOrders, DateSlots, PooledCells } from "./pooled-cells.ts";

/**
 * Across tickers the same signal shows more: what tickers have in common, up to half of the variance of returns, is noise only over
 * time.
 */
const ACROSS_FACTOR = 1.4;

/** The maximum of features times dates whose sums are kept, in 96 MB; further features are not pooled. */
const MAX_CELLS = 2_000_000;

/** The tests of one feature over all tickers. */
class PooledFeature {
  readonly value = new PooledCells();
  readonly change = new PooledCells();
  readonly gaps = new PooledGaps();
  readonly pace = new FeaturePace();
}

/** Collects what the pooled tests need of each feature, ticker by ticker: sums by date, no values. */
export class PooledTests {
  readonly #slots = new DateSlots();
  readonly #features = new Map<string, PooledFeature>();
  readonly #skipped = new Set<string>();

  /** The number of features that did not fit. */
  get skipped(): number {
    return this.#skipped.size;
  }

  /** Adds one feature of one ticker. */
  add(feature: FeatureColumn, surprises: TickerSurprises): void {
    const pooled = this.#of(feature.name);
    if (pooled === undefined) return;
    const value = expandingRanks(feature.x);
    this.#addTo(pooled.value, lessEarlierMean(value), surprises);
    this.#addTo(pooled.change, lessEarlierMean(expandingRanks(changes(feature.x))), surprises);
    pooled.pace.add(feature.x, value);
    pooled.gaps.add(feature, surprises, this.#slots);
  }

  /** Every test of at least MIN_PAIRS dates, by feature. */
  tests(): Map<string, readonly PooledTest[]> {
    const slots = this.#slots.inTime();
    const testsOf = ({ value, change, gaps, pace }: PooledFeature) => [
      ...sideTests("value", value, slots, pace.limit()),
      ...sideTests("change", change, slots, FAST_LIMIT),
      ...gaps.tests(slots),
    ];
    return new Map([...this.#features].map(([name, feature]) => [name, testsOf(feature)]));
  }

  #of(name: string): PooledFeature | undefined {
    const known = this.#features.get(name);
    if (known !== undefined) return known;
    if ((this.#features.size + 1) * this.#slots.size > MAX_CELLS) {
      this.#skipped.add(name);
      return undefined;
    }
    const added = new PooledFeature();
    this.#features.set(name, added);
    return added;
  }

  #addTo(cells: PooledCells, u: Float64Array, { days, rows }: TickerSurprises): void {
    for (let i = 0; i < u.length; i++) {
      const isPair = !Number.isNaN(u[i]!) && !Number.isNaN(rows[i]!);
      if (isPair) cells.add(this.#slots.slotOf(days[i]!), u[i]!, rows[i]!);
    }
  }
}

function sideTests(
  side: PooledSide,
  cells: PooledCells,
  slots: readonly number[],
  limit: number,
): PooledTest[] {
  const over = cells.overTime(slots);
  const across = cells.acrossTickers(slots);
  const ordered = across.values.length < MIN_PAIRS ? undefined : orderedDates(across);
  return [
    ...meanTest(over, { side, form: "over_time", limit }),
    ...meanTest(across.values, { side, form: "across_tickers", limit: ACROSS_FACTOR * limit }),
    ...(ordered === undefined
      ? []
      : [{ side, form: "ordered_dates" as const, limit: 0, dates: across.values.length, ...ordered }]),
  ];
}

function meanTest(values: Float64Array, what: Pick<PooledTest, "side" | "form" | "limit">): PooledTest[] {
  if (values.length < MIN_PAIRS) return [];
  const t = leakT(values);
  return t === null ? [] : [{ ...what, c: mean(values), t, dates: values.length }];
}

/**
 * With lag 5: chance must be excluded with a probability of millionths, for which 8 degrees of freedom would need 11 errors instead of 5.
 * A limit for honest features keeps out what lasts.
 */
function leakT(values: Float64Array): number | null {
  return dateT(values, 1, neweyWestError);
}

/** A correlation across tickers that a date's order reaches by chance on 1 of 740 dates (Fisher's transform). */
const DEVIATIONS = 3;

/** And one that no honest order reaches: days on which one factor moves all prices give it in either direction. */
const MIN_ORDER = 0.5;

/** At least this many dates in one direction for each in the other. */
const MIN_RATIO = 4;

/**
 * Counts the dates on which a feature orders the tickers nearly as their next returns do, and in nearly the opposite order. Features
 * with values of the next date on only some dates have many in one direction; what honest features share with returns occurs in both.
 * The sign test only assumes that under chance both are equally likely.
 */
export function orderedDates({ values, tickers }: DateOrders): Pick<PooledTest, "c" | "t"> | undefined {
  let [up, down] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i]!);
    if (
      size < MIN_ORDER ||
      Math.atanh(Math.min(size, MAX_CORRELATION)) * Math.sqrt(tickers[i]! - 3) < DEVIATIONS
    )
      continue;
    if (values[i]! > 0) up++;
    else down++;
  }
  const [more, fewer] = [Math.max(up, down), Math.min(up, down)];
  if (more < MIN_RATIO * Math.max(1, fewer)) return undefined;
  return { c: (up - down) / values.length, t: (up - down) / Math.sqrt(up + down) };
}

/** Fisher's transform is infinite at 1. */
const MAX_CORRELATION = 1 - 1e-12;

/** By how much returns after missing values may differ from the others, in deviations: a missing value can be news itself. */
const RETURN_LIMIT = 0.15;

/** By how much more the size of the next return may differ than that of the last one, in deviations of their ranks. */
const SIZE_LIMIT = 0.3;

const MIN_MISSING = 5;

/** Gaps of one feature and the returns after them, as sums over the tickers of each date. */
class PooledGaps {
  /** By slot of a date. */
  readonly #returns = new Map<number, number>();
  readonly #sizes = new Map<number, number>();
  #variance = 0;

  /**
   * Adds one ticker's price dates between the first value of the feature and the last one, if it is missing on some of them. A filter
   * on known facts, such as a calm month, relates to the size of the last return at least as much as to that of the next one, so the
   * difference of the two is tested.
   */
  add(
    { x }: FeatureColumn,
    { history, returns, sizes, returnSizes }: TickerSurprises,
    slots: DateSlots,
  ): void {
    const { priceRows, days } = history;
    const [first, last] = [x.findIndex(Number.isFinite), x.findLastIndex(Number.isFinite)];
    if (first < 0) return;
    const present = new Set<number>();
    for (let i = first; i <= last; i++) if (Number.isFinite(x[i]!)) present.add(priceRows[i]!);
    const rows = priceRows[last]! - priceRows[first]! + 1;
    const missing = rows - present.size;
    if (missing < MIN_MISSING || present.size < MIN_MISSING) return;
    const share = missing / rows;
    for (let row = priceRows[first]!; row <= priceRows[last]!; row++) {
      if (Number.isNaN(returns[row]!)) continue;
      const mark = (present.has(row) ? 0 : 1) - share;
      const slot = slots.slotOf(days[row]!);
      this.#variance += share * (1 - share);
      addTo(this.#returns, slot, mark * returns[row]!);
      const [next, before] = [sizes[row]!, returnSizes[row - 1]];
      const isBoth = before !== undefined && !Number.isNaN(next) && !Number.isNaN(before);
      if (isBoth) addTo(this.#sizes, slot, mark * (next - before));
    }
  }

  tests(slots: readonly number[]): PooledTest[] {
    const kinds = [
      [this.#returns, { side: "missing", form: "next_return", limit: RETURN_LIMIT }],
      [this.#sizes, { side: "missing", form: "next_size", limit: SIZE_LIMIT }],
    ] as const;
    return kinds.flatMap(([sums, what]) => {
      const values = Float64Array.from(slots.flatMap((slot) => sums.get(slot) ?? []));
      if (values.length < MIN_PAIRS) return [];
      // A sum of products divided by a sum of variances is a difference of means.
      const scaled = values.map((value) => (value * values.length) / this.#variance);
      const t = leakT(scaled);
      return t === null ? [] : [{ ...what, c: mean(scaled), t, dates: values.length }];
    });
  }
}

function addTo(sums: Map<number, number>, slot: number, value: number): void {
  sums.set(slot, (sums.get(slot) ?? 0) + value);
}

/** What is compared with the next return: a feature's value, its change since the previous row, or its absence. */
export type PooledSide = "value" | "change" | "missing";

/**
 * How it is compared: the mean product over time; the correlation across the tickers of a date; the share of dates whose order is
 * nearly that of the next returns; or, for missing values, the difference of the next returns and of their sizes.
 */
type PooledForm = "over_time" | "across_tickers" | "ordered_dates" | "next_return" | "next_size";

/** One test of one feature over all tickers, with dates as units. */
export interface PooledTest {
  readonly side: PooledSide;
  readonly form: PooledForm;
  /** The mean over dates: a correlation, a share of dates, or a difference in deviations. */
  readonly c: number;
  /** Newey-West t over dates; for `ordered_dates` the deviations of a sign test. */
  readonly t: number;
  readonly dates: number;
  /** The maximum |c| of an honest feature. */
  readonly limit: number;
}

/** An honest feature at its limit is found in one of a hundred tests. */
const LIMIT_PROBABILITY = 0.01;

/**
 * Whether a test shows more than chance and more than an honest feature: the t exceeds the quantile of `p`, and |c| exceeds its limit
 * by the errors that chance exceeds with LIMIT_PROBABILITY.
 * @param p one-sided probability of chance, for each of all tests together.
 */
export function isBeyondLimit({ c, t, dates, limit }: PooledTest, p: number): boolean {
  if (Math.abs(t) <= dateQuantile(dates, p)) return false;
  const error = Number.isFinite(t) ? Math.abs(c / t) : 0;
  return Math.abs(c) - limit > dateQuantile(dates, LIMIT_PROBABILITY) * error;
}

/**
 * The t over dates that chance alone exceeds with probability p, for probabilities far below those of `neweyWestQuantile`: Student's
 * quantile with the equivalent degrees of freedom of Bartlett's kernel, 3 / (2 b), since the error's variance has a relative variance
 * of 4 b / 3; divided by sqrt(1 - b) for the variance lost to centring; b = (lag + 1) / n. Student's quantile is computed from the
 * normal one by Wallace's formula (1959, "Bounds on normal approximations to Student's and the chi-square distributions").
 * @param n dates, at least 30. @param p one-sided, at most 0.02.
 */
export function dateQuantile(n: number, p: number): number {
  const b = (NEWEY_WEST_LAG + 1) / n;
  const freedom = 3 / (2 * b);
  const z = (upperNormalQuantile(p) * (8 * freedom + 3)) / (8 * freedom + 1);
  return Math.sqrt((freedom * Math.expm1((z * z) / freedom)) / (1 - b));
}
