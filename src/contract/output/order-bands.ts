import { type Band, bandFromT } from "./band.ts";
import type { DelayedOrder } from "./metrics-schemas.ts";
import { datesQuantile, meanMethod } from "./test-quantile.ts";

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
