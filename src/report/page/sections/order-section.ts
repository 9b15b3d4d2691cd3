import { columnChart } from "../../charts/column-chart.ts";
import { bandFigure, figure, NO_FIGURE, wholePercent } from "../../data/figures.ts";
import type { OrderWorth } from "../../data/section-data.ts";
import { basisPoints } from "../../data/sections/order-worth.ts";
import { linePanel } from "../line-panel.ts";
import { numbersTable } from "../numbers-table.ts";
import { keyLine, type Panel } from "../panel.ts";

/** What the order of the forecasts is worth. */
export function orderPanels(order: OrderWorth): Panel[] {
  const { turnover, costs } = order;
  return [
    quantilesPanel(order),
    spreadPanel(order.spread),
    ...(costs === undefined ? [] : [costsPanel(costs)]),
    horizonsPanel(order),
    ...(turnover === undefined ? [] : [turnoverPanel(turnover)]),
  ];
}

function quantilesPanel({ quantiles, quantilesFinding }: OrderWorth): Panel {
  return {
    title: "Return by forecast quantile",
    finding: quantilesFinding,
    chart: columnChart({
      finding: quantilesFinding,
      labels: quantiles.map(({ quantile }, i) =>
        i === 0 ? "lowest" : i === quantiles.length - 1 ? "highest" : String(quantile),
      ),
      unit: "return",
      series: [quantiles.map(({ realised }) => realised)],
      bands: quantiles.map(({ band }) => band),
      dots: quantiles.map(({ predicted }) => predicted),
    }),
    key: keyLine([
      ["bar", "mean realised simple return"],
      ["whisker", `its ${wholePercent(95)} band`],
      ["dot second", "mean forecast, as a simple return"],
    ]),
    numbers: numbersTable({
      caption: "return by forecast quantile",
      columns: ["Quantile", "Dates", "Realised", `${wholePercent(95)} band`, "Forecast"],
      rows: quantiles.map(({ quantile, dates, realised, band, predicted }) => [
        String(quantile),
        figure(dates, "count"),
        figure(realised, "return"),
        band === null ? NO_FIGURE : bandFigure(band, "return"),
        figure(predicted, "return"),
      ]),
    }),
  };
}

function spreadPanel({ days, values, summed, finding }: OrderWorth["spread"]): Panel {
  return linePanel({
    title: "Top minus bottom, cumulative",
    finding,
    days,
    values: summed,
    unit: "return",
    name: "cumulative spread",
    meaning: "cumulative return of the top quantile minus the bottom quantile, before costs; not a strategy",
    level: { value: 0 },
    columns: [
      ["Spread", values],
      ["Sum", summed],
    ],
  });
}

function costsPanel({ nets, dates, finding }: NonNullable<OrderWorth["costs"]>): Panel {
  const labels = nets.map(({ cost }) => basisPoints(cost));
  return {
    title: "Top minus bottom, after costs",
    finding,
    chart: columnChart({
      finding,
      labels,
      unit: "return",
      series: [nets.map(({ mean }) => mean)],
      bands: nets.map(({ band }) => band),
    }),
    key: keyLine([
      ["bar", "mean daily spread, by cost per purchase or sale"],
      ["whisker", `its ${wholePercent(95)} band`],
    ]),
    numbers: numbersTable({
      caption: "spread after costs",
      columns: ["Cost per side", "Dates", "Spread", `${wholePercent(95)} band`],
      rows: nets.map(({ mean, band }, i) => [
        labels[i]!,
        figure(dates, "count"),
        figure(mean, "return"),
        band === null ? NO_FIGURE : bandFigure(band, "return"),
      ]),
    }),
  };
}

function horizonsPanel({ horizons, horizonsFinding: finding }: OrderWorth): Panel {
  if (horizons.length === 0) return { title: "IC by horizon", finding, chart: "" };
  return {
    title: "IC by horizon",
    finding,
    chart: columnChart({
      finding,
      labels: horizons.map(({ horizon }) => `${horizon} d`),
      unit: "number",
      series: [horizons.map(({ ic }) => ic)],
      bands: horizons.map(({ band }) => band),
    }),
    key: keyLine([
      ["bar", "mean IC of the forecasts with the summed returns of the following days"],
      ["whisker", `its ${wholePercent(95)} band`],
    ]),
    numbers: numbersTable({
      caption: "IC by horizon",
      columns: ["Days", "Dates", "IC", `${wholePercent(95)} band`],
      rows: horizons.map(({ horizon, dates, ic, band }) => [
        String(horizon),
        figure(dates, "count"),
        figure(ic, "number"),
        band === null ? NO_FIGURE : bandFigure(band, "number"),
      ]),
    }),
  };
}

function turnoverPanel(turnover: NonNullable<OrderWorth["turnover"]>): Panel {
  const { days, autocorrelation, rolling, rollingDates, finding } = turnover;
  const isLong = !rolling.every(Number.isNaN);
  const name = isLong ? `mean of ${rollingDates} dates` : "daily";
  return linePanel({
    title: "Persistence of the order",
    finding,
    days,
    values: isLong ? rolling : autocorrelation,
    unit: "number",
    name,
    meaning: `rank autocorrelation of the forecasts from one date to the next, ${name}`,
    level: { value: 0 },
    columns: [
      ["Daily", autocorrelation],
      [`Mean of ${rollingDates} dates`, rolling],
    ],
  });
}
