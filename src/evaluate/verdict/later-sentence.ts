import { closeName, laterOrder } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import type { JudgedRows } from "../../contract/output/verdict.ts";

/** The orders of the rows of a verdict; of the score rows if there are none, as for calibration rows. */
interface OrdersByRows {
  readonly score: readonly DelayedOrder[] | undefined;
  readonly out_of_fold: readonly DelayedOrder[] | undefined;
}

/**
 * What the order is worth at the first close after the forecasts: `A close later: mean IC 0.007, t = 1.30; net of 5 bp a side, the
 * top fifth minus the bottom fifth returns -5.6 bp a day.`
 * @returns undefined if it is known on too few dates.
 */
export function laterSentence(orders: OrdersByRows, rows: JudgedRows): string | undefined {
  const isOfFolds = rows === "out_of_fold";
  const order = laterOrder(isOfFolds ? orders.out_of_fold : orders.score);
  if (order === undefined) return undefined;
  const where = isOfFolds || rows === "score" ? "" : "on the score rows, ";
  const labels = orders.score?.[0]?.delay === order.delay ? " (where the labels begin)" : "";
  const close = `${where}${closeName(order.delay)}${labels}`;
  const { ic_mean: ic, ic_t: t, net_5bp: net } = order;
  const figures =
    ic === null || net === null
      ? `order over time ${fixed(order.order_mean, 3)}, t = ${fixed(order.order_t, 2)}`
      : `mean IC ${fixed(ic, 3)}, t = ${fixed(t, 2)}; net of 5 bp a side, the top fifth minus the bottom fifth returns ${fixed(net, 1)} bp a day`;
  return `${close.charAt(0).toUpperCase()}${close.slice(1)}: ${figures}.`;
}

function fixed(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined) return "none";
  // A number that rounds to 0 has no sign.
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}
