import { bandFigure, countedRows, figure, NO_FIGURE, wholePercent } from "../../view/figures.ts";
import { dot, GRID, gridX, gridY, segment } from "../../view/path.ts";
import { histogramChart } from "../charts/column-chart.ts";
import { mark, plotSvg, tickLabels, xGrid, yGrid } from "../charts/plot.ts";
import { rowChart } from "../charts/row-chart.ts";
import { linearScale, type Scale } from "../charts/scale.ts";
import { type OutputEvidence, whyNoLabels } from "../evidence/output-evidence.ts";
import { END_BARS, ends, keyLine, numbersTable, type Panel } from "../panels/panel.ts";
import { chartSection, type Part, panelsOf } from "../panels/section.ts";
import { type CalibrationBin, calibration } from "../statistics/calibration.ts";
import { type Histogram, histogram } from "../statistics/histogram.ts";

/** Whether forecasts have the right size. */
export const sizesSection = chartSection({
  id: "sizes",
  title: "Sizes",
  isByRows: true,
  needsReturns: true,
  panels: ({ common }) => panelsOf("Sizes", sizesOf(common), sizesPanels),
});

/** Whether forecasts have the right size. */
interface Sizes {
  readonly calibration: {
    /**
     * By forecast, the lowest first, with rows distributed as evenly as possible. There are fewer than ten bins if forecasts repeat.
     */
    readonly bins: readonly CalibrationBin[];
    readonly finding: string;
  };
  readonly tickers: {
    /** The best first; without tickers whose R² does not exist. */
    readonly rows: readonly { readonly ticker: string; readonly n: number; readonly r2Zero: number }[];
    readonly median: number | null;
    readonly histogram: Histogram;
    readonly finding: string;
  };
}

const BINS = 10;

/** Whether forecasts have the right size. */
export function sizesOf(evidence: OutputEvidence): Part<Sizes> {
  const { byDate, table, dateCount, judgedRows } = evidence;
  if (dateCount === 0) return { absent: whyNoLabels(evidence) };
  const bins = calibration(byDate, BINS);
  return {
    data: {
      calibration: { bins, finding: calibrationFinding(bins, judgedRows) },
      tickers: tickerSkill(table),
    },
  };
}

function calibrationFinding(
  bins: readonly CalibrationBin[],
  judgedRows: OutputEvidence["judgedRows"],
): string {
  const forecasts = judgedRows === "score" ? "published forecasts" : "forecasts";
  const [low, high] = [bins[0]!, bins.at(-1)!];
  if (bins.length === 1) {
    return `All ${forecasts} are ${figure(low.predicted, "return")}; the mean return was ${figure(low.realised, "return")}.`;
  }
  const asFar = (high.realised - low.realised) / (high.predicted - low.predicted);
  const rose = `From the lowest bin to the highest, ${forecasts} rise by ${figure(high.predicted - low.predicted, "return")} and returns by ${figure(high.realised - low.realised, "return")}, ${figure(asFar, "ratio")} times as much`;
  const banded = bins.filter(({ band }) => band !== null);
  if (banded.length === 0) return `${rose}.`;
  const fitting = banded.filter(({ band, predicted }) => band!.low <= predicted && predicted <= band!.high);
  return `${rose}. In ${figure(fitting.length, "count")} of ${countedRows(banded.length, "bin")}, the ${wholePercent(95)} band of the return contains the forecast.`;
}

function tickerSkill({ by_ticker, r2_zero_median: median }: OutputEvidence["table"]): Sizes["tickers"] {
  const rows = [...by_ticker].flatMap(([ticker, { n, r2_zero }]) =>
    r2_zero === null ? [] : [{ ticker, n, r2Zero: r2_zero }],
  );
  // The sort is stable: equal ones keep their order by code point.
  rows.sort((a, b) => b.r2Zero - a.r2Zero);
  return {
    rows,
    median,
    histogram: histogram(Float64Array.from(rows, ({ r2Zero }) => r2Zero)),
    finding: tickerFinding(rows, median),
  };
}

function tickerFinding(rows: Sizes["tickers"]["rows"], median: number | null): string {
  const [best, worst] = [rows[0], rows.at(-1)];
  if (best === undefined || worst === undefined)
    return "No ticker has an R²: all returns are 0, or forecasts are extremely large.";
  if (rows.length === 1) return `${best.ticker} has an R² against zero of ${figure(best.r2Zero, "r2")}.`;
  const good = rows.filter(({ r2Zero }) => r2Zero > 0).length;
  return `Forecasts beat the zero forecast for ${figure(good, "count")} of ${countedRows(rows.length, "ticker")}. The median R² is ${figure(median, "r2")}, the best ${figure(best.r2Zero, "r2")} (${best.ticker}), the worst ${figure(worst.r2Zero, "r2")} (${worst.ticker}).`;
}

function sizesPanels(sizes: Sizes): Panel[] {
  return [calibrationPanel(sizes.calibration), ...tickerPanels(sizes.tickers)];
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

function tickerPanels({ rows, finding, histogram: counts }: Sizes["tickers"]): Panel[] {
  if (rows.length === 0) return [{ title: "R² by ticker", finding, chart: "" }];
  const { shown, gap } = ends(rows);
  const cut = gap !== undefined ? ` The ${END_BARS} best and the ${END_BARS} worst are shown.` : "";
  const panels: Panel[] = [
    {
      ...(gap === undefined ? {} : { tab: { card: "r2", label: "R² by ticker" } }),
      title: "R² by ticker",
      finding: `${finding}${cut}`,
      chart: rowChart({
        finding,
        unit: "r2",
        gap,
        isJudged: true,
        rows: shown.map(({ ticker, r2Zero }) => ({ name: ticker, value: r2Zero })),
      }),
      numbers: numbersTable({
        caption: "R² by ticker",
        columns: ["Ticker", "Rows", "R² against zero"],
        rows: rows.map(({ ticker, n, r2Zero }) => [ticker, figure(n, "count"), figure(r2Zero, "r2")]),
      }),
    },
  ];
  if (gap !== undefined) {
    const all = `R² of all ${countedRows(rows.length, "ticker")}.`;
    panels.push({
      tab: { card: "r2", label: "All tickers" },
      title: "R² of all tickers",
      finding: all,
      chart: histogramChart(all, counts, "r2", 0),
    });
  }
  return panels;
}

/** Realised returns by forecast, both log-returns, with the line where they are equal. */
function calibrationChart(finding: string, bins: readonly CalibrationBin[]): string {
  const x = linearScale([0, ...bins.map(({ predicted }) => predicted)]);
  const ends = bins.flatMap(({ band }) => (band === null ? [] : [band.low, band.high]));
  const y = linearScale([0, ...bins.map(({ realised }) => realised), ...ends]);
  const column = (value: number) => gridX(x.share(value));
  const row = (value: number) => gridY(y.share(value));
  const bands = bins.map(({ predicted, band }) =>
    band === null ? "" : segment(column(predicted), row(band.low), column(predicted), row(band.high)),
  );
  const marks = [
    xGrid(x),
    yGrid(y),
    mark("level", equality(x, y)),
    mark("whisker", bands.join("")),
    mark("dot large", bins.map(({ predicted, realised }) => dot(column(predicted), row(realised))).join("")),
  ];
  const labels = tickLabels(x, "return").map((label, i, all) => ({
    ...label,
    isSpare: all.length > 3 && i % 2 === 1,
  }));
  return plotSvg({ finding, marks, xLabels: labels, yLabels: tickLabels(y, "return"), height: 180 });
}

/** The part of the diagonal within both scales. */
function equality(x: Scale, y: Scale): string {
  const [from, to] = [Math.max(x.low, y.low), Math.min(x.high, y.high)];
  if (from >= to) return "";
  const [left, right] = [gridX(x.share(from)), gridX(x.share(to))];
  return segment(left, gridY(y.share(from)), Math.min(GRID, right), gridY(y.share(to)));
}
