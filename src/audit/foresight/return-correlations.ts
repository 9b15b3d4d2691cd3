import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { deviationsFromZero, MIN_PAIRS, type RankCorrelation } from "./significance.ts";
import { changes, type FeatureColumn, pick, type TickerHistory } from "./ticker-history.ts";

/** The correlations of one feature of one ticker with returns that nothing known on its dates can predict. */
export interface ReturnCorrelations {
  /** Correlation of the value with the label, which is the next return if there is no delay, here and below. */
  readonly level: ReturnCorrelation | undefined;
  /** Correlation of its change since the previous row with the next return. */
  readonly change: ReturnCorrelation | undefined;
  /** Correlation of its change with the size of the next return. */
  readonly size: RankCorrelation | undefined;
  /** Correlation of its change with the return `lag` price dates later, after the label's and up to 63: the strongest one beyond LATER_LIMIT. */
  readonly later: (LaterCorrelation & { readonly signs: WindowSigns }) | undefined;
  /** Correlation of its change with the size of the return `lag` price dates later: the strongest one beyond LATER_LIMIT. */
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
  const later = strongestLater(dx, history.y, history);
  const laterSize = strongestLater(dx, labels.sizes, history);
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
  /** Shape (m), by price date: of the next returns. */
  readonly sizes: Float64Array;

  constructor({ y, labels: ofDates, priceRows }: TickerHistory) {
    this.sizes = y.map(Math.abs);
    const labels = pick(ofDates, priceRows);
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

/** |c| of a feature or its change with the next return; daily information coefficients of funds are below 0.1. */
export const RETURN_LIMIT = 0.2;

/** The return into the row's own price date, and the two before; with more of them, noise takes over. */
export const LAST_RETURNS = 3;

/** A correlation with the next return, and its partial correlation given the ticker's last returns. */
export interface ReturnCorrelation extends RankCorrelation {
  /** The partial correlation; undefined if |c| is within RETURN_LIMIT, or for fewer than MIN_PAIRS rows. */
  readonly partial?: number;
}

/**
 * Adds the partial correlation to a correlation of x with the next return that exceeds RETURN_LIMIT.
 * @param x shape (r), NaN if missing.
 */
function besideLastReturns(
  found: RankCorrelation | undefined,
  x: Float64Array,
  history: TickerHistory,
): ReturnCorrelation | undefined {
  if (found === undefined || Math.abs(found.c) <= RETURN_LIMIT) return found;
  const partial = partialCorrelation(x, history);
  return partial === undefined ? found : { ...found, partial };
}

/** If less than this share of a side's variance is left, the last returns explain it. */
const NOTHING_LEFT = 1e-9;

/**
 * Spearman's partial correlation of x with the next return given the ticker's LAST_RETURNS last ones: the correlation of the
 * residuals of both ranks on their ranks. If a price bounces between bid and ask, its returns reverse, and anything that contains the
 * last price correlates with the next return; given the last returns it does not.
 * @returns 0 if the last returns explain x, or the next return, completely; undefined for fewer than MIN_PAIRS complete rows.
 */
function partialCorrelation(x: Float64Array, history: TickerHistory): number | undefined {
  const { y, labels, priceRows } = history;
  const rows = rowsWithReturns(x, history);
  if (rows.length < MIN_PAIRS) return undefined;
  const sideOf = (valueAt: (row: number) => number) => centredRanks(Float64Array.from(rows, valueAt));
  const returnsAgo = (ago: number) => sideOf((row) => y[priceRows[row]! - ago]!);
  const kept: Float64Array[] = [];
  for (let ago = 1; ago <= LAST_RETURNS; ago++) {
    const side = returnsAgo(ago);
    if (removeAll(side, kept) > NOTHING_LEFT) kept.push(side);
  }
  const [a, b] = [sideOf((row) => x[row]!), sideOf((row) => labels[priceRows[row]!]!)];
  const left = Math.min(removeAll(a, kept), removeAll(b, kept));
  return left > NOTHING_LEFT ? product(a, b) / Math.sqrt(product(a, a) * product(b, b)) : 0;
}

/** Rows with a value, a label and LAST_RETURNS last returns. */
function rowsWithReturns(x: Float64Array, { y, labels, priceRows }: TickerHistory): number[] {
  const rows: number[] = [];
  for (const [row, at] of priceRows.entries()) {
    if (at < LAST_RETURNS || !Number.isFinite(x[row]!) || !Number.isFinite(labels[at]!)) continue;
    if (y.subarray(at - LAST_RETURNS, at).every(Number.isFinite)) rows.push(row);
  }
  return rows;
}

function centredRanks(values: Float64Array): Float64Array {
  const middle = (values.length + 1) / 2;
  return averageRanks(values).map((rank) => rank - middle);
}

/** Removes from a side its projections on other, orthogonal sides. @returns the remaining share of its variance. */
function removeAll(side: Float64Array, others: readonly Float64Array[]): number {
  const before = product(side, side);
  for (const other of others) {
    const share = product(side, other) / product(other, other);
    for (let i = 0; i < side.length; i++) side[i]! -= share * other[i]!;
  }
  return before > 0 ? product(side, side) / before : 0;
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** A quarter of a year. The return 1 price date later, or `delay` dates after that, is the label itself. */
export const MAX_LAG = 63;

/** Changes of windows centred on their date reach 0.65 at half the width, honest changes 0.10 at most. */
export const LATER_LIMIT = 0.2;

/** Correlations of ranks over all rows differ by less than this from those of ranks over the pairs alone. */
const SCREEN = 0.12;

/** A correlation with a return `lag` price dates later. */
interface LaterCorrelation extends RankCorrelation {
  readonly lag: number;
}

interface LaterReturns {
  readonly strongest: LaterCorrelation | undefined;
  readonly tests: number;
}

/**
 * Spearman's correlation of a feature's change with the return `lag` price dates later, or with its size, lag = 2 + delay ... MAX_LAG. Ranks
 * over all rows quickly find the lags near LATER_LIMIT; these are ranked again over their own pairs.
 * @param dx shape (r), NaN without a change.
 * @param y shape (m), by price date: returns or their sizes, each from its date to the next.
 * @returns the lag with the most deviations among those with |c| > LATER_LIMIT.
 */
function strongestLater(
  dx: Float64Array,
  y: Float64Array,
  { priceRows, delay }: TickerHistory,
): LaterReturns {
  const ranks = { dx: ranksOrNaN(dx), y: ranksOrNaN(y) };
  let strongest: LaterReturns["strongest"];
  let tests = 0;
  for (let lag = 2 + delay; lag <= MAX_LAG; lag++) {
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
interface WindowSigns {
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
function windowSigns(
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
