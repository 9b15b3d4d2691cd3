import type { ForecastView } from "../../../client/index.ts";
import { element } from "../../dom.ts";
import { numbersTable } from "./numbers-table.ts";
import { qualityFigures } from "./quality-figures.ts";

/** How good the forecasts of all tickers were, on each set of rows that the models did not learn from. */
export function qualityTable(view: ForecastView): HTMLElement[] {
  const { columns, rows } = qualityFigures(view);
  if (columns.length === 0) return [];
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
  ];
}
