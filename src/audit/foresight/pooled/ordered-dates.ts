import type { DateOrders } from "./pooled-cells.ts";
import type { PooledTest } from "./pooled-test.ts";

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
