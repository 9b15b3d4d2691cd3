import { ascendingOrder } from "./ascending-order.ts";

/**
 * Ranks from 1 to n, ties sharing the average of the ranks they span, as scipy.stats.rankdata does by default.
 * @param values shape (n).
 * @returns shape (n); every rank is a whole or a half number, so sums of ranks are exact. If a value is NaN, there is no order, and every
 * rank is NaN, as in scipy.
 */
export function averageRanks(values: Float64Array): Float64Array {
  const ranks = new Float64Array(values.length);
  if (values.some(Number.isNaN)) return ranks.fill(Number.NaN);
  const order = ascendingOrder(values);
  // Of tied values, `below` others are smaller and `upTo` are not larger: their ranks are below + 1 ... upTo.
  for (let below = 0, upTo = 1; below < order.length; below = upTo++) {
    const value = values[order[below]!]!;
    while (upTo < order.length && values[order[upTo]!] === value) upTo++;
    for (let i = below; i < upTo; i++) ranks[order[i]!] = (below + 1 + upTo) / 2;
  }
  return ranks;
}
