import { closeTitle, laterOrder, orderBands } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import type { Band } from "../../contract/output/test-quantile.ts";
import type { JudgedRows } from "../../contract/output/verdict.ts";

/** The orders of the rows of a verdict; of the score rows if there are none, as for calibration rows. */
interface OrdersByRows {
  readonly score: readonly DelayedOrder[] | undefined;
  readonly out_of_fold: readonly DelayedOrder[] | undefined;
  /** Whether shrinkage multiplied forecasts by 0, so that only the model's own have an order. */
  readonly isOfModel?: boolean;
}

/**
 * What the order is worth at the first close after the forecasts: `A close later: mean IC 0.007, 90% band -0.002 to 0.016; net of 5 bp a
 * side, the top fifth minus the bottom fifth returned -5.6 bp a day, 90% band -9.1 to -2.1.`
 * @returns undefined if it is known on too few dates.
 */
export function laterSentence(orders: OrdersByRows, rows: JudgedRows): string | undefined {
  const isOfFolds = rows === "out_of_fold";
  const order = laterOrder(isOfFolds ? orders.out_of_fold : orders.score);
  if (order === undefined) return undefined;
  const where = isOfFolds || rows === "score" ? "" : " on the score rows";
  const labels = orders.score?.[0]?.delay === order.delay ? " (where the labels begin)" : "";
  const { ic_mean: ic, net_5bp: net } = order;
  const bands = orderBands(order);
  const fifths = `the top fifth minus the bottom fifth${orders.isOfModel ? " of the model's own forecasts" : ""}`;
  const figures =
    ic === null || net === null
      ? `order over time ${fixed(order.order_mean, 3)} deviations${bandText(bands.order, 3)}`
      : `mean IC ${fixed(ic, 3)}${bandText(bands.order, 3)}; net of 5 bp a side, ${fifths} returned ${fixed(net, 1)} bp a day${bandText(bands.net, 1)}`;
  return `${closeTitle(order.delay)}${where}${labels}: ${figures}.`;
}

function bandText(band: Band | null, digits: number): string {
  return band === null ? "" : `, 90% band ${fixed(band.low, digits)} to ${fixed(band.high, digits)}`;
}

function fixed(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined) return "none";
  // A number that rounds to 0 has no sign.
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}
