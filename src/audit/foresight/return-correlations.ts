import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { besideLastReturns, type ReturnCorrelation } from "./last-returns.ts";
import { type LaterCorrelation, strongestLater, type WindowSigns, windowSigns } from "./later-returns.ts";
import { MIN_PAIRS, type RankCorrelation } from "./significance.ts";
import { changes, type FeatureColumn, pick, type TickerHistory } from "./ticker-history.ts";

/** The correlations of one feature of one ticker with returns that nothing known on its dates can predict. */
export interface ReturnCorrelations {
  /** Of the value with the next return. */
  readonly level: ReturnCorrelation | undefined;
  /** Of its change since the row before with the next return. */
  readonly change: ReturnCorrelation | undefined;
  /** Of its change with the size of the next return. */
  readonly size: RankCorrelation | undefined;
  /** Of its change with the return `lag` price dates later, 2 to 63: the strongest one beyond LATER_LIMIT. */
  readonly later: (LaterCorrelation & { readonly signs: WindowSigns }) | undefined;
  /** Of its change with the size of the return `lag` price dates later: the strongest one beyond LATER_LIMIT. */
  readonly laterSize: LaterCorrelation | undefined;
  /** The number of correlations, strong or not. */
  readonly tests: number;
}

/**
 * Spearman's correlations of one feature, ties averaged, each over the rows that have both sides. The value itself is never compared
 * with the size of the return: an honest volatility correlates with it.
 */
export function returnCorrelations(
  history: TickerHistory,
  { x }: FeatureColumn,
  labels: LabelRanks,
): ReturnCorrelations {
  const dx = changes(x);
  const level = besideLastReturns(rankCorrelation(x, labels.level), x, history);
  const change = besideLastReturns(rankCorrelation(dx, labels.change), dx, history);
  const size = rankCorrelation(dx, labels.size);
  const later = strongestLater(dx, history.y, history.priceRows);
  const laterSize = strongestLater(dx, labels.sizes, history.priceRows);
  const { strongest } = later;
  const near = [level, change, size].filter((one) => one !== undefined).length;
  return {
    level,
    change,
    size,
    later: strongest && { ...strongest, signs: windowSigns(x, dx, strongest.lag, history) },
    laterSize: laterSize.strongest,
    tests: near + later.tests + laterSize.tests,
  };
}

/** Ranks of the labels of a ticker's rows, cached for the next feature: most features miss the same rows. */
export class LabelRanks {
  readonly level: RankedSide;
  readonly change: RankedSide;
  readonly size: RankedSide;
  /** Shape (m), by price date. */
  readonly sizes: Float64Array;

  constructor({ y, priceRows }: TickerHistory) {
    this.sizes = y.map(Math.abs);
    const labels = pick(y, priceRows);
    this.level = new RankedSide(labels);
    this.change = new RankedSide(labels);
    this.size = new RankedSide(labels.map(Math.abs));
  }
}

class RankedSide {
  readonly values: Float64Array;
  #rows: Int32Array = new Int32Array(0);
  #ranks: Float64Array = new Float64Array(0);

  constructor(values: Float64Array) {
    this.values = values;
  }

  /** Ranks among the given rows alone. */
  ranksOf(rows: Int32Array): Float64Array {
    const isSame = rows.length === this.#rows.length && rows.every((row, i) => row === this.#rows[i]);
    if (!isSame) {
      this.#rows = rows;
      this.#ranks = averageRanks(pick(this.values, rows));
    }
    return this.#ranks;
  }
}

/** @returns undefined for fewer than MIN_PAIRS pairs, and if either side is constant. */
function rankCorrelation(x: Float64Array, side: RankedSide): RankCorrelation | undefined {
  const rows = pairedRows(x, side.values);
  if (rows.length < MIN_PAIRS) return undefined;
  const c = correlation(averageRanks(pick(x, rows)), side.ranksOf(rows));
  return c === null ? undefined : { c, n: rows.length };
}

/** The rows where both sides are finite. */
function pairedRows(a: Float64Array, b: Float64Array): Int32Array {
  const rows = new Int32Array(a.length);
  let n = 0;
  for (let i = 0; i < a.length; i++) if (Number.isFinite(a[i]!) && Number.isFinite(b[i]!)) rows[n++] = i;
  return rows.subarray(0, n);
}
