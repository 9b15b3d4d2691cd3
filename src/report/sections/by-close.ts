import { closeTitle, orderBands } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import { bandFigure, figure, muRange, NO_FIGURE, wholePercent } from "../../view/figures.ts";
import { JUDGED_ROWS, type OutputEvidence } from "../evidence/output-evidence.ts";
import { plainTable } from "../panels/panel.ts";

/** What the order is worth at the close of the labels and at the two after it, with costs. */
export function byCloseHtml(
  orders: readonly DelayedOrder[],
  judgedRows: OutputEvidence["judgedRows"],
): string {
  if (orders.every(({ dates }) => dates === 0)) return "";
  const band = `${wholePercent(90)} band`;
  const orderBand = (order: DelayedOrder) => {
    const found = orderBands(order).order;
    return found === null ? NO_FIGURE : bandFigure(found, "ic");
  };
  const netBand = (order: DelayedOrder) => {
    const found = orderBands(order).net;
    // From basis points.
    return found === null ? NO_FIGURE : muRange(found.low / 1e4, found.high / 1e4);
  };
  const points = (value: number | null) => figure(value === null ? null : value / 1e4, "mu");
  const isOverTime = orders.some(({ order_mean }) => order_mean !== undefined);
  const table = isOverTime
    ? {
        columns: ["Trade", "Order over time, deviations", band, "Dates"],
        rows: orders.map((order) => [
          closeTitle(order.delay),
          figure(order.order_mean, "ic"),
          orderBand(order),
          figure(order.dates, "count"),
        ]),
      }
    : {
        columns: [
          "Trade",
          "IC",
          band,
          "Spread",
          "Replaced",
          "After 1 bp",
          "After 5 bp",
          band,
          "After 10 bp",
          "Dates",
        ],
        rows: orders.map((order) => [
          closeTitle(order.delay),
          figure(order.ic_mean, "ic"),
          orderBand(order),
          points(order.spread_mean),
          figure(order.turnover, "coverage"),
          points(order.net_1bp),
          points(order.net_5bp),
          netBand(order),
          points(order.net_10bp),
          figure(order.dates, "count"),
        ]),
      };
  const meaning = isOverTime
    ? "The mean over dates of the sign of each forecast above its own past mean, times the return in units of its deviation."
    : "Spread: top minus bottom fifth of the forecasts, a day. Replaced: share of a fifth that was not in it the date before. After: the spread less that cost a side.";
  return `<div class="closes"><h3>By the close of the trade</h3>
${plainTable({ caption: `what the order of the ${JUDGED_ROWS[judgedRows]} is worth by the close of the trade`, ...table })}
<p class="faint">${meaning}</p></div>
`;
}
