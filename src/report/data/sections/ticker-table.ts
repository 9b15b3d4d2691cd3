import type { Metrics } from "../../../contract/output/metrics-schemas.ts";
import { mean } from "../../../evaluate/statistics.ts";
import type { ScoredRows } from "../../../outputs/scored-rows.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { countOf, type IntervalOutcomes } from "../../statistics/interval-outcomes.ts";
import { countedRows, figure } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { TickerRow, TickerTable } from "../section-data.ts";

/** The table of tickers, each with its forecasts. */
export function tickerTable(evidence: OutputEvidence): Part<TickerTable> {
  const rows = evidence.rows.map((row, i) => tickerRow(evidence, row, evidence.outcomes[i]!));
  if (rows.length === 0) return { absent: "No ticker has a forecast." };
  const better = rows.filter(({ r2Zero }) => r2Zero !== null && r2Zero > 0).length;
  const judged = rows.filter(({ r2Zero }) => r2Zero !== null).length;
  const finding =
    judged === 0
      ? `${countedRows(rows.length, "ticker")}, none with realised returns yet.`
      : `Forecasts beat the zero forecast by R² for ${figure(better, "count")} of ${countedRows(judged, "ticker")}.`;
  return { data: { rows, finding } };
}

function tickerRow(
  { document, table }: OutputEvidence,
  series: ScoredRows,
  covered: IntervalOutcomes,
): TickerRow {
  const { ticker } = series;
  const metrics = table.by_ticker.get(ticker)!;
  const missed = covered.side.length - countOf(covered.side, 0);
  const hasEnds = covered.days.length > 0;
  return {
    ticker,
    mu: Object.hasOwn(document.mu, ticker) ? document.mu[ticker]! : null,
    n: metrics.n,
    rmse: metrics.rmse,
    hitRate: metrics.hit_rate,
    r2Zero: metrics.r2_zero,
    r2Mean: metrics.r2_mean,
    correlation: metrics.correlation,
    coverage: hasEnds ? 1 - missed / covered.days.length : null,
    meanWidth: hasEnds ? mean(covered.width) : null,
    misses: hasEnds ? missed : null,
    series,
    finding: findingOf(ticker, metrics, covered, missed),
  };
}

function findingOf(
  ticker: string,
  { n, r2_zero }: Metrics,
  { days }: IntervalOutcomes,
  missed: number,
): string {
  if (n === 0) return `${ticker} has no realised return yet.`;
  const held =
    days.length === 0
      ? ""
      : `; ${figure(missed, "count")} of ${countedRows(days.length, "return")} fell outside the intervals`;
  return `${ticker}: R² against zero ${figure(r2_zero, "percent")} over ${countedRows(n, "row")}${held}.`;
}
