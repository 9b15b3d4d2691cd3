import { mean } from "../../../evaluate/statistics.ts";
import { dateT } from "../../../evaluate/verdict/date-t.ts";
import { expandingRanks, lessEarlierMean } from "../expanding-ranks.ts";
import { FAST_LIMIT, FeaturePace } from "../feature-pace.ts";
import type { TickerSurprises } from "../return-surprises.ts";
import { MIN_PAIRS } from "../significance.ts";
import { changes, type FeatureColumn } from "../ticker-history.ts";
import { orderedDates } from "./ordered-dates.ts";
import { DateSlots, PooledCells } from "./pooled-cells.ts";
import { PooledGaps } from "./pooled-missing.ts";
import type { PooledSide, PooledTest } from "./pooled-test.ts";

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
  const t = dateT(values, 1);
  return t === null ? [] : [{ ...what, c: mean(values), t, dates: values.length }];
}
