import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { deviationsFromZero, LEAST_PAIRS, type RankCorrelation } from "./significance.ts";
import type { TickerHistory } from "./ticker-history.ts";

/** A quarter of a year. The return 1 price date later is the label itself. */
export const MOST_LAG = 63;

/** Changes of windows centred on their date reach 0.65 at half the width, honest ones 0.10 at most. */
export const LATER_LIMIT = 0.2;

/** Correlations over fewer ranks than all differ by less than this from those of ranks made anew. */
const SCREEN = 0.12;

interface LaterReturns {
  readonly strongest: (RankCorrelation & { readonly lag: number }) | undefined;
  readonly tests: number;
}

/**
 * Spearman's correlation of a feature's change with the return of the price date `lag` dates later, lag = 2 ... MOST_LAG.
 * Ranks over all rows tell quickly which lags are near LATER_LIMIT; those are ranked anew over the pairs they have.
 * @param dx shape (r), NaN where there is no change.
 * @returns the lag with the most deviations among those with |c| > LATER_LIMIT.
 */
export function strongestLater(dx: Float64Array, { y, priceRows }: TickerHistory): LaterReturns {
  const ranks = { dx: ranksOrNaN(dx), y: ranksOrNaN(y) };
  let strongest: LaterReturns["strongest"];
  let tests = 0;
  for (let lag = 2; lag <= MOST_LAG; lag++) {
    const screened = pairsAt(lag, ranks.dx, ranks.y, priceRows);
    if (screened.n < LEAST_PAIRS || screened.c === null) continue;
    tests++;
    if (Math.abs(screened.c) <= SCREEN) continue;
    const found = rankedAnew(lag, dx, y, priceRows);
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

function rankedAnew(lag: number, dx: Float64Array, y: Float64Array, priceRows: Int32Array) {
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
