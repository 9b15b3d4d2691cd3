import { counted } from "../errors/wording.ts";

/** A next price more than this many calendar days away gives no label, and an older last price no forecast. */
export const MAX_GAP_DAYS = 10;

/** Fewer prices have no typical distance. */
const MIN_PRICES = 3;

/**
 * The median distance between neighbouring price dates, if it is too long for labels, as with monthly prices.
 * @param days shape (m), price dates, ascending.
 * @returns calendar days; undefined if at least half of the dates have their next one within MAX_GAP_DAYS.
 */
export function sparseGapDays(days: Int32Array): number | undefined {
  if (days.length < MIN_PRICES) return undefined;
  const gaps = days.subarray(1).map((day, i) => day - days[i]!);
  const median = gaps.sort()[(gaps.length - 1) >> 1]!;
  return median > MAX_GAP_DAYS ? median : undefined;
}

/** The clause about prices that are this far apart; the name of their ticker precedes it. */
export function sparsePrices(gapDays: number): string {
  return `has prices ${counted(gapDays, "calendar day")} apart (median), and a label needs the next one within ${MAX_GAP_DAYS}`;
}
