import type { RunSummary } from "./job-events.ts";
import type { DelayedOrder, LaterFigures } from "./metrics-schemas.ts";
import { type Band, bandFromT, datesQuantile, MIN_DATES, meanMethod } from "./test-quantile.ts";
import type { RowsVerdict } from "./verdict.ts";

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven"];

/** The close at which forecasts are traded, counted from the close at which they are made: `two closes later`. */
export function closeName(delay: number): string {
  if (delay === 0) return "at the same close";
  return delay === 1 ? "a close later" : `${NUMBERS[delay] ?? delay} closes later`;
}

export function closeTitle(delay: number): string {
  const name = closeName(delay);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/**
 * The order at the first close after the forecasts, which a trade can still reach; for labels with a delay, that of the labels.
 * @returns undefined for outputs of older versions, and with fewer than MIN_DATES dates.
 */
export function laterOrder(orders: readonly DelayedOrder[] | undefined): DelayedOrder | undefined {
  const order = orders?.find(({ delay }) => delay > 0);
  return order !== undefined && order.dates >= MIN_DATES ? order : undefined;
}

/** The 90 % bands of an order and of its spread after 5 bp a side: without 0 if a one-sided test at 5 % finds the figure. */
export function orderBands(order: DelayedOrder): { readonly order: Band | null; readonly net: Band | null } {
  const { dates, order_mean: overTime } = order;
  const quantile = datesQuantile(overTime === undefined ? meanMethod(dates) : "student", dates, 0.95);
  return {
    order:
      overTime === undefined
        ? bandFromT(order.ic_mean, order.ic_t, quantile)
        : bandFromT(overTime, order.order_t, quantile),
    net: bandFromT(order.net_5bp, order.net_5bp_t, quantile),
  };
}

export function laterFigures(orders: readonly DelayedOrder[] | undefined): LaterFigures | undefined {
  const order = laterOrder(orders);
  if (order === undefined) return undefined;
  const { delay, ic_mean, net_5bp } = order;
  const { net } = orderBands(order);
  return { delay, ic: ic_mean, net_5bp, net_low: net?.low ?? null, net_high: net?.high ?? null };
}

/** What the forecasts of an output are, such as `next-day log-returns`. @param delay of its window. @param unit such as ` in percent`. */
export function returnsText(delay = 0, unit = ""): string {
  if (delay === 0) return `next-day log-returns${unit}`;
  return `log-returns${unit}${unit && ","} of the one day that begins ${delay} ${delay === 1 ? "close" : "closes"} after the forecast`;
}

/** Fewer tickers on a date hardly have an order. */
export const MIN_ORDER_TICKERS = 5;

/** The mean IC, null if the order is measured over time, and R² against a forecast of zero. */
export function verdictFigures({ order, sizes }: Pick<RowsVerdict, "order" | "sizes">) {
  return { ic: order.form === "cross_section" ? order.figure : null, r2: sizes.against.zero.r2 };
}

/** The IC of a run. Summaries of 0.2.0 have a correlation over time in its place, for few tickers. */
export function summaryIc({ tickers, verdict }: Pick<RunSummary, "tickers" | "verdict">): number | null {
  return verdict === null || tickers < MIN_ORDER_TICKERS ? null : verdict.ic;
}
