import type { ForecastView } from "../../../client/index.ts";
import { closeTitle, orderBands } from "../../../contract/output/later-close.ts";
import { bandFigure, figure, NO_FIGURE } from "../../../view/figures.ts";
import { element } from "../../dom.ts";
import { numbersTable } from "./numbers-table.ts";
import { qualityFigures } from "./quality-figures.ts";

type Quality = ForecastView["metrics"]["score"];

/** How good the forecasts of all tickers were, on each set of rows that the models did not learn from. */
export function qualityTable(view: ForecastView): HTMLElement[] {
  const { columns, rows } = qualityFigures(view);
  if (columns.length === 0) return [];
  const { score, out_of_fold: outOfFold } = view.metrics;
  const later = [
    ...closesTable("Score rows", score),
    ...(outOfFold === undefined ? [] : closesTable("Out-of-fold rows", outOfFold)),
  ];
  return [
    element("h3", {}, "Quality"),
    element(
      "p",
      {},
      "On rows that the models did not learn from, all tickers together. R² is against a forecast of zero and gives each ticker the same weight. The IC needs five tickers on a date.",
    ),
    numbersTable({
      name: "Quality",
      columns: ["Figure", ...columns],
      rows: rows.map(({ name, values }) => ({ header: name, cells: values })),
    }),
    ...later,
  ];
}

/** What the order of a set of rows is worth by the close of the trade; nothing for outputs of older versions. */
function closesTable(rows: string, { by_delay: orders = [] }: Quality): HTMLElement[] {
  if (orders.every(({ dates }) => dates === 0)) return [];
  const isOverTime = orders.some(({ order_mean }) => order_mean !== undefined);
  const name = `By the close of the trade, ${rows.toLowerCase()}`;
  return [
    element("h3", {}, name),
    numbersTable({
      name,
      columns: isOverTime
        ? ["Trade", "Order over time, deviations", "90 % band"]
        : ["Trade", "Mean IC", "90 % band", "Net of 5 bp"],
      rows: orders.map((order) => ({
        header: closeTitle(order.delay),
        cells: isOverTime
          ? [figure(order.order_mean, "ic"), bandText(order)]
          : [
              figure(order.ic_mean, "ic"),
              bandText(order),
              figure(order.net_5bp === null ? null : order.net_5bp / 1e4, "mu"),
            ],
      })),
    }),
  ];
}

function bandText(order: NonNullable<Quality["by_delay"]>[number]): string {
  const { order: band } = orderBands(order);
  return band === null ? NO_FIGURE : bandFigure(band, "ic");
}
