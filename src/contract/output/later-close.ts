import type { DelayedOrder } from "./metrics-schemas.ts";

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven"];

/** The close at which forecasts are traded, counted from the close at which they are made: `two closes later`. */
export function closeName(delay: number): string {
  if (delay === 0) return "at the same close";
  return delay === 1 ? "a close later" : `${NUMBERS[delay] ?? delay} closes later`;
}

/** The same with a capital, for tables. */
export function closeTitle(delay: number): string {
  const name = closeName(delay);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** Fewer dates say too little, as for every band and test. */
const MIN_DATES = 30;

/**
 * The order at the first close after the forecasts, which a trade can still reach; for labels with a delay, that of the labels.
 * @returns undefined for outputs of older versions, and with fewer than MIN_DATES dates.
 */
export function laterOrder(orders: readonly DelayedOrder[] | undefined): DelayedOrder | undefined {
  const order = orders?.find(({ delay }) => delay > 0);
  return order !== undefined && order.dates >= MIN_DATES ? order : undefined;
}
