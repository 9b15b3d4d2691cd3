import type { DelayedOrder } from "./metrics-schemas.ts";

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven"];

/** The close at which forecasts are traded, counted from the close at which they are made: `two closes later`. */
export function closeName(delay: number): string {
  if (delay === 0) return "at the same close";
  return delay === 1 ? "a close later" : `${NUMBERS[delay] ?? delay} closes later`;
}

/** The order at the first close after the forecasts, which a trade can still reach; for labels with a delay, that of the labels. */
export function laterOrder(orders: readonly DelayedOrder[] | undefined): DelayedOrder | undefined {
  return orders?.find(({ delay }) => delay > 0);
}
