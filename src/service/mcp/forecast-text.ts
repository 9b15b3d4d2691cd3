import type { ForecastView, TickerForecast } from "../../contract/api/forecast-view.ts";
import { show } from "../../contract/errors/faults.ts";
import { counted, printable } from "../../contract/errors/wording.ts";

/** A forecast in lines, for hosts that show an agent the text alone. */
export function forecastText(view: ForecastView): string {
  const { id, operation, window, count, forecasts, missing, left_out, metrics } = view;
  const { pooled } = metrics.score;
  const { zero, mean } = metrics.baselines;
  const compared = [pooled, zero, mean].map(({ rmse }) => rounded(rmse)).join(", ");
  return [
    `${operation} ${id} as of ${window.as_of}: ${forecasts.length} of ${counted(count, "ticker")} with a mu.`,
    ...forecasts.map(tickerLine),
    ...missing.map(({ ticker, message }) => `${show(ticker)} has no mu: ${printable(message)}`),
    ...(left_out === 0 ? [] : [`${left_out} more did not fit into this answer; ask for them by name.`]),
    `All tickers: hit rate ${rounded(pooled.hit_rate)}; RMSE of the model, the zero forecast, the mean: ${compared}.`,
  ].join("\n");
}

function tickerLine({ ticker, mu, metrics, coverage }: TickerForecast): string {
  const hit =
    metrics === null ? "" : `, hit rate ${rounded(metrics.hit_rate)}, RMSE ${rounded(metrics.rmse)}`;
  const covered = coverage === null ? "" : `, coverage ${rounded(coverage.coverage)}`;
  return `${show(ticker)} mu ${mu}${hit}${covered}`;
}

const DIGITS = 4;

function rounded(value: number | null): string {
  return value === null ? "none" : String(Number(value.toPrecision(DIGITS)));
}
