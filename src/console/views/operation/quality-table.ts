import type { ForecastView } from "../../../client/index.ts";
import { closeTitle } from "../../../contract/output/later-close.ts";
import { figure, type Unit } from "../../../report/figures.ts";
import { element } from "../../dom.ts";
import { numbersTable } from "./numbers-table.ts";

type Quality = ForecastView["metrics"]["score"];

/** A figure of a set of rows; `coverage` is the share of labels inside their intervals. */
type QualityRow = readonly [
  name: string,
  unit: Unit,
  value: (quality: Quality, coverage: number | null | undefined) => number | null | undefined,
];

const ROWS: readonly QualityRow[] = [
  ["Rows", "count", ({ pooled }) => pooled.n],
  ["R² against zero", "r2", ({ pooled }) => pooled.r2_zero],
  ["R² against the training mean", "r2", ({ pooled }) => pooled.r2_mean],
  ["Mean IC", "ic", ({ cross_section }) => cross_section.ic_mean],
  ["t of the mean IC", "t", ({ cross_section }) => cross_section.ic_t_newey_west],
  ["Mean rank IC", "ic", ({ cross_section }) => cross_section.rank_ic_mean],
  ["Mean IC beyond beta, volatility and past returns", "ic", ({ exposures }) => exposures?.residual.ic_mean],
  ["Hit rate", "coverage", ({ pooled }) => pooled.hit_rate],
  ["Up days", "coverage", ({ pooled }) => pooled.up_share],
  ["Coverage", "coverage", (_, coverage) => coverage],
];

/** How good the forecasts of all tickers were, on each set of rows that the models did not learn from. */
export function qualityTable({ metrics, intervals, verdict }: ForecastView): HTMLElement[] {
  const heldOut = verdict?.judged.find(({ rows }) => rows === "out_of_fold");
  const sets = [
    ["Score rows", metrics.score, intervals?.pooled.coverage] as const,
    ["Out-of-fold rows", metrics.out_of_fold, heldOut?.intervals?.figure] as const,
  ].flatMap(([name, quality, coverage]) =>
    quality === undefined || quality.pooled.n === 0 ? [] : [{ name, quality, coverage }],
  );
  if (sets.length === 0) return [];
  const rows = ROWS.map(([name, unit, value]) => ({
    name,
    unit,
    values: sets.map(({ quality, coverage }) => value(quality, coverage)),
  })).filter(({ values }) => values.some((value) => value !== null && value !== undefined));
  const later = sets.flatMap(({ name, quality }) => closesTable(name, quality));
  return [
    element("h3", {}, "Quality"),
    element(
      "p",
      {},
      "On rows that the models did not learn from, all tickers together. In the verdict and in the list of runs, R² gives each ticker the same weight, and with fewer than five tickers a correlation over time stands for the IC.",
    ),
    numbersTable({
      name: "Quality",
      columns: ["Figure", ...sets.map(({ name }) => name)],
      rows: rows.map(({ name, unit, values }) => ({
        header: name,
        cells: values.map((value) => figure(value, unit)),
      })),
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
        ? ["Trade", "Order over time", "t"]
        : ["Trade", "Mean IC", "t", "Fifths after 5 bp", "Replaced"],
      rows: orders.map((order) => ({
        header: closeTitle(order.delay),
        cells: isOverTime
          ? [figure(order.order_mean, "ic"), figure(order.order_t, "t")]
          : [
              figure(order.ic_mean, "ic"),
              figure(order.ic_t, "t"),
              figure(order.net_5bp === null ? null : order.net_5bp / 1e4, "mu"),
              figure(order.turnover, "coverage"),
            ],
      })),
    }),
  ];
}
