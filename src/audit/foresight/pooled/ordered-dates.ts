import type { DateOrders } from "./pooled-cells.ts";
import type { PooledTest } from "./pooled-test.ts";

/** A correlation across tickers that a date's order has by chance in 1 of 740 dates (Fisher's transform). */
const DEVIATIONS = 3;

/** And one that no honest order has: days on which one factor moves all prices give it in either direction. */
const MIN_ORDER = 0.5;

/** So many dates in one direction for each in the other. */
const MIN_RATIO = 4;

/**
 * Counts the dates on which a feature orders the tickers nearly as their next returns do, and as the opposite. Features with values of
 * the next date on some dates alone have many in one direction; what an honest feature has in common with returns comes in both. The sign
 * test asks of chance no more than that both are as likely.
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
