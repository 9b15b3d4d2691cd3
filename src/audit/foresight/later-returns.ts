import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { deviationsFromZero, MIN_PAIRS, type RankCorrelation } from "./significance.ts";
import type { TickerHistory } from "./ticker-history.ts";

/** A quarter of a year. The return 1 price date later is the label itself. */
export const MAX_LAG = 63;

/** Changes of windows centred on their date reach 0.65 at half the width, honest changes 0.10 at most. */
export const LATER_LIMIT = 0.2;

/** Correlations of ranks over all rows differ by less than this from those of ranks over the pairs alone. */
const SCREEN = 0.12;

/** A correlation with a return `lag` price dates later. */
export interface LaterCorrelation extends RankCorrelation {
  readonly lag: number;
}

interface LaterReturns {
  readonly strongest: LaterCorrelation | undefined;
  readonly tests: number;
}

/**
 * Spearman's correlation of a feature's change with the return `lag` price dates later, or with its size, lag = 2 ... MAX_LAG. Ranks
 * over all rows quickly find the lags near LATER_LIMIT; these are ranked again over their own pairs.
 * @param dx shape (r), NaN without a change.
 * @param y shape (m), by price date: returns or their sizes, each from its date to the next.
 * @returns the lag with the most deviations among those with |c| > LATER_LIMIT.
 */
export function strongestLater(dx: Float64Array, y: Float64Array, priceRows: Int32Array): LaterReturns {
  const ranks = { dx: ranksOrNaN(dx), y: ranksOrNaN(y) };
  let strongest: LaterReturns["strongest"];
  let tests = 0;
  for (let lag = 2; lag <= MAX_LAG; lag++) {
    const screened = pairsAt(lag, ranks.dx, ranks.y, priceRows);
    if (screened.n < MIN_PAIRS || screened.c === null) continue;
    tests++;
    if (Math.abs(screened.c) <= SCREEN) continue;
    const found = rerankedCorrelation(lag, dx, y, priceRows);
    if (found === undefined || Math.abs(found.c) <= LATER_LIMIT) continue;
    if (strongest === undefined || deviationsFromZero(found) > deviationsFromZero(strongest))
      strongest = { ...found, lag };
  }
  return { strongest, tests };
}

/** Ranks of the finite values among themselves, NaN for the others. */
function ranksOrNaN(values: Float64Array): Float64Array {
  const ranks = averageRanks(values.filter(Number.isFinite));
  let next = 0;
  return values.map((value) => (Number.isFinite(value) ? ranks[next++]! : Number.NaN));
}

/** Pearson's correlation over the pairs without NaN, in one pass: sums of ranks are exact. */
function pairsAt(lag: number, a: Float64Array, b: Float64Array, priceRows: Int32Array) {
  let n = 0;
  let [sa, sb, saa, sbb, sab] = [0, 0, 0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const at = priceRows[i]! + lag - 1;
    if (at >= b.length) break;
    const u = a[i]!;
    const v = b[at]!;
    if (!(u * v > 0)) continue;
    n++;
    sa += u;
    sb += v;
    saa += u * u;
    sbb += v * v;
    sab += u * v;
  }
  const spread = (n * saa - sa * sa) * (n * sbb - sb * sb);
  return { n, c: spread > 0 ? (n * sab - sa * sb) / Math.sqrt(spread) : null };
}

function rerankedCorrelation(lag: number, dx: Float64Array, y: Float64Array, priceRows: Int32Array) {
  const [changes, returns]: [number[], number[]] = [[], []];
  for (let i = 0; i < dx.length; i++) {
    const later = y[priceRows[i]! + lag - 1];
    if (later === undefined || !Number.isFinite(later) || !Number.isFinite(dx[i]!)) continue;
    changes.push(dx[i]!);
    returns.push(later);
  }
  const c = correlation(averageRanks(Float64Array.from(changes)), averageRanks(Float64Array.from(returns)));
  return c === null ? undefined : { c, n: changes.length };
}

/** What distinguishes a window that reaches past its date from a feature that returns honestly follow after some dates. */
export interface WindowSigns {
  /** Spearman's correlation of the value with the return at the same lag; null if it does not exist. */
  readonly value: number | null;
  /** The strongest correlation of the change with a return at least OTHER_DATES dates away from that lag, before or after. */
  readonly other: { readonly c: number; readonly lag: number };
}

/** A change has two ends, the dates of two values: a property of one value shows at two successive lags. */
const OTHER_DATES = 2;

/**
 * A window that moves by a date gains a return at one end and loses one at the other, so its change correlates with returns at two
 * places. Lag 0 is the return into the date, and lag -k that into the k-th date before.
 */
export function windowSigns(
  x: Float64Array,
  dx: Float64Array,
  lag: number,
  { y, priceRows }: TickerHistory,
): WindowSigns {
  const ranks = { x: ranksOrNaN(x), dx: ranksOrNaN(dx), y: ranksOrNaN(y) };
  const value = pairsAt(lag, ranks.x, ranks.y, priceRows).c;
  let other = { c: 0, lag: 0 };
  for (let at = -MAX_LAG; at <= MAX_LAG; at++) {
    if (Math.abs(at - lag) < OTHER_DATES) continue;
    const { n, c } = pairsAt(at, ranks.dx, ranks.y, priceRows);
    if (n >= MIN_PAIRS && c !== null && Math.abs(c) > Math.abs(other.c)) other = { c, lag: at };
  }
  return { value, other };
}
