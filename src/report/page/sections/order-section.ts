import { formatDay } from "../../../contract/market/dates.ts";
import { columnChart } from "../../charts/column-chart.ts";
import { lineChart } from "../../charts/line-chart.ts";
import { bandFigure, figure, NO_FIGURE, wholePercent } from "../../data/figures.ts";
import type { OrderWorth } from "../../data/report-data.ts";
import { numbersTable } from "../numbers-table.ts";
import { keyLine, type Panel } from "../panel.ts";

/** What the order of the forecasts was worth. */
export function orderPanels(order: OrderWorth): Panel[] {
  const { turnover } = order;
  return [
    quantilesPanel(order),
    spreadPanel(order.spread),
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
      ["bar", "mean realised return"],
      ["whisker", `its ${wholePercent(95)} band`],
      ["dot second", "mean forecast"],
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
  const title = "Top less bottom, summed";
  if (days.length === 0) return { title, finding, chart: "" };
  return {
    title,
    finding,
    chart: lineChart({
      finding,
      x: days,
      xKind: "day",
      unit: "return",
      lines: [{ name: "summed spread", values: summed }],
      levels: [0],
    }),
    key: keyLine([
      ["line", "return of the top quantile less the bottom one, summed, before costs: not a strategy"],
    ]),
    numbers: numbersTable({
      caption: title,
      columns: ["Date", "Spread", "Sum"],
      rows: Array.from(days, (day, i) => [
        formatDay(day),
        figure(values[i], "return"),
        figure(summed[i], "return"),
      ]),
    }),
  };
}

function turnoverPanel({
  days,
  autocorrelation,
  rolling,
  rollingDates,
  finding,
}: NonNullable<OrderWorth["turnover"]>): Panel {
  const isLong = !rolling.every(Number.isNaN);
  const name = isLong ? `mean of ${rollingDates} dates` : "of the day";
  return {
    title: "How long the order lasts",
    finding,
    chart: lineChart({
      finding,
      x: days,
      xKind: "day",
      unit: "number",
      lines: [{ name, values: isLong ? rolling : autocorrelation }],
      levels: [0],
    }),
    key: keyLine([["line", `rank autocorrelation of the forecasts from one date to the next, ${name}`]]),
    numbers: numbersTable({
      caption: "rank autocorrelation",
      columns: ["Date", "Of the day", `Mean of ${rollingDates} dates`],
      rows: Array.from(days, (day, i) => [
        formatDay(day),
        figure(autocorrelation[i], "number"),
        figure(rolling[i], "number"),
      ]),
    }),
  };
}
