/** The tests of each feature over all tickers, with dates as units: statistic, threshold and finding. */
import { NEWEY_WEST_LAG } from "../../contract/output/test-quantile.ts";
import { dateT, neweyWestError } from "../../evaluate/mean-test.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import { type DateOrders, FAST_LIMIT, type PooledFeature, type PooledSums } from "./pooled-sums.ts";
import { FAMILY_ERROR, MIN_PAIRS, upperNormalQuantile } from "./rank-correlation.ts";
import { CHANGE_OVER_LEVEL } from "./return-signs.ts";

export interface PooledTest {
  /** What is compared with the next return: a feature's value, its change since the previous row, or its absence. */
  readonly side: "value" | "change" | "missing";
  readonly form: keyof typeof TEXTS;
  /** The mean over dates: a correlation, a share of dates, or a difference in deviations. */
  readonly c: number;
  /** Newey-West t over dates; for `ordered_dates` the deviations of a sign test. */
  readonly t: number;
  readonly dates: number;
  /** The maximum |c| of an honest feature. */
  readonly limit: number;
}

/** Each form of a test, in words. @param what the feature, or its change. @param t with the dates. */
const TEXTS = {
  /** The mean product over time. */
  over_time: (test, what, t) => `Over all tickers, ${what} has a correlation of ${limited(test, t)}`,
  /** The correlation across the tickers of a date. */
  across_tickers: (test, what, t) => `Across tickers, ${what} has a mean correlation of ${limited(test, t)}`,
  /** The share of dates whose order is nearly that of the next returns. */
  ordered_dates: ({ c, dates }, what) =>
    `On ${(100 * Math.abs(c)).toFixed(1)} % of ${dates} dates, ${what} orders the tickers nearly as their next returns do, and on hardly any date in the opposite order: some of its values may be dated early.`,
  /** The difference of the next returns after missing values from the others. */
  next_return: ({ c }, what, t) =>
    `Over all tickers, the next return after a missing ${what} differs from the others by ${c.toFixed(2)} standard deviations (${t}).`,
  /** The same of their sizes, beyond that of the last ones. */
  next_size: ({ c }, what, t) =>
    `Over all tickers, gaps of ${what} depend more on the size of the next return than on the size of the last one: by ${c.toFixed(2)} standard deviations (${t}). Later data may have decided which rows are left out.`,
} as const satisfies Record<string, (test: PooledTest, what: string, t: string) => string>;

function limited({ c, limit }: PooledTest, t: string): string {
  return `${c.toFixed(2)} with the next return (${t}); the limit for an honest feature is ${limit.toFixed(2)}.`;
}

/**
 * Across tickers the same signal shows more: what tickers have in common, up to half of the variance of returns, is noise only over
 * time.
 */
const ACROSS_FACTOR = 1.4;

/** By how much returns after missing values may differ from the others, in deviations: a missing value can be news itself. */
const GAP_LIMIT = 0.15;

/** By how much more the size of the next return may differ than that of the last one, in deviations of their ranks. */
const GAP_SIZE_LIMIT = 0.3;

/** Every test of at least MIN_PAIRS dates, by feature. */
export function pooledTests(sums: PooledSums): Map<string, readonly PooledTest[]> {
  const slots = sums.inTime();
  return new Map([...sums.features].map(([name, feature]) => [name, testsOf(feature, slots)]));
}

function testsOf({ value, change, gaps, pace }: PooledFeature, slots: readonly number[]): PooledTest[] {
  const tests: PooledTest[] = [];
  const test = (side: PooledTest["side"], form: PooledTest["form"], limit: number, values: Float64Array) => {
    // With lag 5: chance must be excluded with a probability of millionths, for which the 8 degrees of freedom of a longer memory would
    // need 11 errors instead of 5. A limit for honest features keeps out what lasts.
    const t = values.length < MIN_PAIRS ? null : dateT(values, 1, neweyWestError);
    if (t !== null) tests.push({ side, form, limit, c: mean(values), t, dates: values.length });
  };
  for (const [side, cells, limit] of [
    ["value", value, pace.limit()],
    ["change", change, FAST_LIMIT],
  ] as const) {
    test(side, "over_time", limit, cells.overTime(slots));
    const orders = cells.acrossTickers(slots);
    test(side, "across_tickers", ACROSS_FACTOR * limit, orders.values);
    const dates = orders.values.length;
    const ordered = dates < MIN_PAIRS ? undefined : orderedDates(orders);
    if (ordered !== undefined) tests.push({ side, form: "ordered_dates", limit: 0, dates, ...ordered });
  }
  for (const [form, limit, byDate] of [
    ["next_return", GAP_LIMIT, gaps.returns],
    ["next_size", GAP_SIZE_LIMIT, gaps.sizes],
  ] as const) {
    const values = Float64Array.from(slots.flatMap((slot) => byDate.get(slot) ?? []));
    // A sum of products divided by a sum of variances is a difference of means.
    const differences = values.map((product) => (product * values.length) / gaps.variance);
    test("missing", form, limit, differences);
  }
  return tests;
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
  const strong = values.filter((value, i) => {
    const size = Math.min(Math.abs(value), 1 - 1e-12);
    return size >= MIN_ORDER && Math.atanh(size) * Math.sqrt(tickers[i]! - 3) >= DEVIATIONS;
  });
  const up = strong.filter((value) => value > 0).length;
  const down = strong.length - up;
  if (Math.max(up, down) < MIN_RATIO * Math.max(1, Math.min(up, down))) return undefined;
  return { c: (up - down) / values.length, t: (up - down) / Math.sqrt(up + down) };
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

/** A feature that is suspected over all tickers together, by its clearest test. */
export type PooledSuspect = ReturnType<typeof pooledSuspects>[number];

/** Half of the chance findings allowed for an audit belong to these tests, the other half to single tickers. */
export function pooledSuspects(tests: ReadonlyMap<string, readonly PooledTest[]>) {
  const all = [...tests.values()].reduce((sum, { length }) => sum + length, 0);
  const p = FAMILY_ERROR / 2 / Math.max(1, all);
  return [...tests].flatMap(([feature, pooled]) => {
    const found = pooled.filter((test) => isBeyondLimit(test, p));
    const returns = found.filter(({ side }) => side !== "missing");
    const gaps = found.filter(({ side }) => side === "missing");
    // As for single tickers, the change contains what the value of the previous date did not.
    const isFresh = returns.some(({ side, form, c }) => {
      const level = pooled.find((test) => test.side === "value" && test.form === form)?.c ?? 0;
      return (
        side === "change" && form !== "ordered_dates" && Math.abs(c) > CHANGE_OVER_LEVEL * Math.abs(level)
      );
    });
    return [
      ...suspect(feature, isFresh ? "knows_next_price" : "implausible_skill", returns, pooled),
      ...suspect(feature, "missing_predicts_label", gaps, pooled),
    ];
  });
}

function suspect(
  feature: string,
  code: "knows_next_price" | "implausible_skill" | "missing_predicts_label",
  found: readonly PooledTest[],
  pooled: readonly PooledTest[],
) {
  if (found.length === 0) return [];
  const shown = found.reduce((a, b) => (Math.abs(b.t) > Math.abs(a.t) ? b : a));
  const what = shown.side === "change" ? `the change of ${feature}` : feature;
  const t = `t ${Number.isFinite(shown.t) ? shown.t.toFixed(1) : "infinite"} over ${shown.dates} dates`;
  const figures = pooled.map(({ side, form, c, t, dates, limit }) => {
    return { side, form, c, t: finiteOrNull(t), dates, limit };
  });
  return [{ feature, code, text: TEXTS[shown.form](shown, what, t), figures }];
}
