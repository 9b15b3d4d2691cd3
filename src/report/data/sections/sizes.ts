import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import type { CalibrationBin } from "../../statistics/calibration.ts";
import { calibration } from "../../statistics/calibration.ts";
import { histogram } from "../../statistics/histogram.ts";
import { countedRows, figure, wholePercent } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { Sizes } from "../section-data.ts";
import { whyNoLabels } from "./why-absent.ts";

const BINS = 10;

/** Whether forecasts have the right size. */
export function sizesOf(evidence: OutputEvidence): Part<Sizes> {
  const { byDate, table, dateCount } = evidence;
  if (dateCount === 0) return { absent: whyNoLabels(evidence) };
  const bins = calibration(byDate, BINS);
  return {
    data: { calibration: { bins, finding: calibrationFinding(bins) }, tickers: tickerSkill(table) },
  };
}

function calibrationFinding(bins: readonly CalibrationBin[]): string {
  const [low, high] = [bins[0]!, bins.at(-1)!];
  if (bins.length === 1) {
    return `All forecasts are ${figure(low.predicted, "return")}; the mean return was ${figure(low.realised, "return")}.`;
  }
  const asFar = (high.realised - low.realised) / (high.predicted - low.predicted);
  const rose = `From the lowest bin to the highest, forecasts rise by ${figure(high.predicted - low.predicted, "return")} and returns by ${figure(high.realised - low.realised, "return")}, ${figure(asFar, "number")} times as much`;
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
    return "No ticker has an R²: all returns are 0, or forecasts are absurdly large.";
  if (rows.length === 1) return `${best.ticker} has an R² against zero of ${figure(best.r2Zero, "percent")}.`;
  const good = rows.filter(({ r2Zero }) => r2Zero > 0).length;
  return `Forecasts beat the zero forecast for ${figure(good, "count")} of ${countedRows(rows.length, "ticker")}. The median R² is ${figure(median, "percent")}, the best ${figure(best.r2Zero, "percent")} (${best.ticker}), the worst ${figure(worst.r2Zero, "percent")} (${worst.ticker}).`;
}
