import { histogramChart } from "../../charts/column-chart.ts";
import { calibrationChart } from "../../charts/point-chart.ts";
import { rowChart } from "../../charts/row-chart.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, wholePercent } from "../../data/figures.ts";
import type { Sizes } from "../../data/section-data.ts";
import { numbersTable } from "../numbers-table.ts";
import { keyLine, type Panel } from "../panel.ts";
import { END_BARS, ends } from "./mu-section.ts";

/** Whether forecasts have the right size. */
export function sizesPanels({ calibration, tickers }: Sizes): Panel[] {
  return [calibrationPanel(calibration), ...tickerPanels(tickers)];
}

function calibrationPanel({ bins, finding }: Sizes["calibration"]): Panel {
  return {
    title: "Calibration",
    finding,
    chart: calibrationChart(finding, bins),
    key: keyLine([
      ["dot", "mean realised return (vertical) by mean forecast (horizontal)"],
      ["whisker", `its ${wholePercent(95)} band`],
      ["level", "perfectly sized forecasts"],
    ]),
    numbers: numbersTable({
      caption: "calibration",
      columns: ["Bin", "Rows", "Forecast", "Realised", `${wholePercent(95)} band`],
      rows: bins.map(({ n, predicted, realised, band }, i) => [
        String(i + 1),
        figure(n, "count"),
        figure(predicted, "return"),
        figure(realised, "return"),
        band === null ? NO_FIGURE : bandFigure(band, "return"),
      ]),
    }),
  };
}

function tickerPanels({ rows, finding, histogram }: Sizes["tickers"]): Panel[] {
  if (rows.length === 0) return [{ title: "R² by ticker", finding, chart: "" }];
  const shown = ends(rows);
  const isCut = shown.length < rows.length;
  const cut = isCut ? ` The ${END_BARS} best and the ${END_BARS} worst are shown.` : "";
  const panels: Panel[] = [
    {
      title: "R² by ticker",
      finding: `${finding}${cut}`,
      chart: rowChart({
        finding,
        unit: "percent",
        rows: shown.map(({ ticker, r2Zero }) => ({ name: ticker, value: r2Zero })),
      }),
      numbers: numbersTable({
        caption: "R² by ticker",
        columns: ["Ticker", "Rows", "R² against zero"],
        rows: rows.map(({ ticker, n, r2Zero }) => [ticker, figure(n, "count"), figure(r2Zero, "percent")]),
      }),
    },
  ];
  if (isCut) {
    const all = `R² of all ${countedRows(rows.length, "ticker")}.`;
    panels.push({
      title: "R² of all tickers",
      finding: all,
      chart: histogramChart(all, histogram, "percent", 0),
    });
  }
  return panels;
}
