import { columnChart } from "../../charts/column-chart.ts";
import { rowChart } from "../../charts/row-chart.ts";
import { figure } from "../../data/figures.ts";
import type { IntervalsSection, TickerCoverage, VolatilityCoverage } from "../../data/section-data.ts";
import { linePanel } from "../line-panel.ts";
import { numbersTable, plainTable } from "../numbers-table.ts";
import { keyLine, type Panel } from "../panel.ts";
import { longYears } from "./long-years.ts";
import { END_BARS, ends } from "./mu-section.ts";

/** The intervals and their actual coverage. */
export function intervalsPanels(data: IntervalsSection): Panel[] {
  return [
    rollingPanel(data),
    widthPanel(data),
    ...(data.volatility === undefined ? [] : [volatilityPanel(data, data.volatility)]),
    yearsPanel(data),
    missesPanel(data),
    tickersPanel(data),
    ...othersPanel(data),
  ];
}

function rollingPanel({ overTime, nominal }: IntervalsSection): Panel {
  const { days, coverage, coverageFinding: finding, rollingDates } = overTime;
  return linePanel({
    title: `Coverage over ${rollingDates} dates`,
    finding,
    days,
    values: coverage,
    unit: "share",
    name: "coverage",
    meaning: `coverage over the last ${rollingDates} dates`,
    level: { value: nominal, meaning: `nominal: ${figure(nominal, "share")}` },
    columns: [["Coverage", coverage]],
  });
}

function widthPanel({ overTime, bound }: IntervalsSection): Panel {
  const { days, width, widthFinding: finding } = overTime;
  const name = bound === "both" ? "median width" : "median distance of the bound from the forecast";
  return linePanel({
    title: "Width",
    finding,
    days,
    values: width,
    unit: "share",
    name,
    meaning: `${name} over the tickers of a date, in percent of price`,
    level: { value: 0 },
    columns: [["Median", width]],
  });
}

function volatilityPanel(
  { nominal, method = "asked" }: IntervalsSection,
  { tenths, others, finding }: VolatilityCoverage,
): Panel {
  const [other] = Object.entries(others);
  const level = ["level", `asked: ${figure(nominal, "share")}`] as const;
  const labels = tenths.map((_, i) => String(i + 1));
  return {
    title: "Coverage by volatility",
    finding,
    chart: columnChart({
      finding,
      labels,
      unit: "share",
      series: [tenths.map(({ coverage }) => coverage), ...(other === undefined ? [] : [other[1]])],
      level: nominal,
      isFromLevel: true,
    }),
    key: keyLine(
      other === undefined
        ? [["bar", "tenths of each ticker's days; 1 is the quietest"], level]
        : [
            ["bar", `${method}, by tenths of each ticker's days; 1 is the quietest`],
            ["bar second", other[0]],
            level,
          ],
    ),
    numbers: numbersTable({
      caption: "coverage by volatility",
      columns: ["Tenth", "Rows", "Coverage", "Mean width"],
      rows: tenths.map(({ n, coverage, meanWidth }, i) => [
        labels[i]!,
        figure(n, "count"),
        figure(coverage, "share"),
        figure(meanWidth, "share"),
      ]),
    }),
  };
}

function yearsPanel({ years, yearsFinding, nominal, method = "asked", others }: IntervalsSection): Panel {
  const { long, note } = longYears(years, "row");
  const other = others.find((one) => one.years.length > 0);
  const theirs =
    other === undefined
      ? []
      : [long.map(({ year }) => other.years.find((one) => one.year === year)?.coverage ?? null)];
  const level = ["level", `asked: ${figure(nominal, "share")}`] as const;
  return {
    title: "Coverage by year",
    finding: `${yearsFinding}${note}`,
    chart: columnChart({
      finding: yearsFinding,
      labels: long.map(({ year }) => String(year)),
      unit: "share",
      series: [long.map(({ coverage }) => coverage), ...theirs],
      level: nominal,
      isFromLevel: true,
    }),
    key: keyLine(
      other === undefined
        ? [["bar", "coverage"], level]
        : [["bar", method], ["bar second", other.name], level],
    ),
    numbers: numbersTable({
      caption: "coverage by year",
      columns: ["Year", "Rows", "Coverage", "Mean width"],
      rows: years.map(({ year, n, coverage, meanWidth }) => [
        String(year),
        figure(n, "count"),
        figure(coverage, "share"),
        figure(meanWidth, "share"),
      ]),
    }),
  };
}

function missesPanel({ misses, n, bound, nominal }: IntervalsSection): Panel {
  const sides = [
    ...(bound === "upper" ? [] : [{ name: "below", value: misses.below / n }]),
    ...(bound === "lower" ? [] : [{ name: "above", value: misses.above / n }]),
  ];
  const asked = (1 - nominal) / sides.length;
  return {
    title: "Misses",
    finding: misses.finding,
    chart: rowChart({ finding: misses.finding, unit: "share", rows: sides, level: asked }),
    key: keyLine([
      ["bar", "share of returns outside the interval"],
      ["level", `nominal on ${sides.length === 1 ? "this" : "each"} side: ${figure(asked, "share")}`],
    ]),
  };
}

function tickersPanel({ tickers, tickersFinding, nominal }: IntervalsSection): Panel {
  const shown = ends(tickers);
  const cut =
    shown.length < tickers.length ? ` The ${END_BARS} lowest and the ${END_BARS} highest are shown.` : "";
  return {
    title: "Coverage by ticker",
    finding: `${tickersFinding}${cut}`,
    chart: rowChart({
      finding: tickersFinding,
      unit: "share",
      base: nominal,
      atLeast: [nominal - 0.03, Math.min(1, nominal + 0.03)],
      level: nominal,
      rows: shown.map(({ ticker, coverage }) => ({ name: ticker, value: coverage })),
    }),
    key: keyLine([
      ["bar", "difference from nominal"],
      ["level", `asked: ${figure(nominal, "share")}`],
    ]),
    numbers: tickersNumbers(tickers),
  };
}

function tickersNumbers(tickers: readonly TickerCoverage[]): string {
  return numbersTable({
    caption: "coverage by ticker",
    columns: ["Ticker", "Rows", "Coverage", "Below", "Above", "Mean width"],
    rows: tickers.map(({ ticker, n, coverage, below, above, meanWidth }) => [
      ticker,
      figure(n, "count"),
      figure(coverage, "share"),
      figure(below, "count"),
      figure(above, "count"),
      figure(meanWidth, "share"),
    ]),
  });
}

/** The requested method beside the others, on the same rows. */
function othersPanel({
  others,
  othersFinding,
  method = "asked",
  coverage,
  tickers,
}: IntervalsSection): Panel[] {
  if (others.length === 0 || othersFinding === undefined) return [];
  const own = [method, figure(coverage, "share"), figure(tickers[0]?.coverage, "share"), "1"];
  return [
    {
      title: "Other interval methods",
      finding: othersFinding,
      chart: plainTable({
        caption: "interval methods on the same rows",
        columns: ["Method", "Coverage", "Worst ticker", "Score of the chosen method / score of this method"],
        rows: [
          own,
          ...others.map((other) => [
            other.name,
            figure(other.coverage, "share"),
            figure(other.worstTicker, "share"),
            figure(other.scoreRatio, "number"),
          ]),
        ],
      }),
    },
  ];
}
