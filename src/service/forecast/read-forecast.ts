import {
  type ForecastView,
  forecastViewSchema,
  type MissingForecast,
} from "../../contract/api/forecast-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { NOT_AN_OUTPUT } from "../../contract/errors/wrong-document.ts";
import { boundedCopy } from "../../contract/json/bounded-json.ts";
import { OUTPUT_SCHEMA_NAME } from "../../contract/output/output-blob.ts";
import { MAX_CANDIDATES_SHOWN, rankedCandidates } from "../../contract/output/ranked-candidates.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";
import { readParts } from "../../ingest/json/json-parts.ts";
import { type OutputParts, readForecastParts, type TickerSelection } from "./output-parts.ts";

/**
 * Reads the wanted forecasts from the stream of an output, and yields to other requests meanwhile.
 * @param chunks the bytes of the blob.
 * @throws MucastError of `chunks`; unreadable_blob, invalid_data if they are not an output.
 */
export async function readForecast(
  outputName: string,
  chunks: AsyncIterable<Uint8Array>,
  wanted: TickerSelection,
): Promise<ForecastView> {
  const parts = await readParts({ name: outputName, chunks }, (json) => readForecastParts(json, wanted));
  return forecastView(parts, wanted, outputName);
}

const MAX_MESSAGE_LENGTH = 500;

/**
 * Builds the answer of get_forecast, within its size limit.
 * @throws MucastError invalid_data if the parts are not those of an output.
 */
function forecastView(parts: OutputParts, wanted: TickerSelection, outputName: string): ForecastView {
  const { id, operation, window = null, verdict, refits, choice, count, metrics } = parts;
  const { by_ticker: coverages, ...intervals } = metrics?.intervals ?? {};
  const { by_ticker: metricsOf, ...score } = metrics?.score ?? {};
  const { by_ticker: shrinkages, pooled: shrinkage, by_date: byDate, applied } = metrics?.shrinkage ?? {};
  const outOfFold = metrics?.out_of_fold ?? {};
  const forecasts = [...parts.mu].map(([ticker, mu]) => ({
    ticker,
    mu,
    ...(parts.mu_dates?.has(ticker) && { mu_date: parts.mu_dates.get(ticker) }),
    ...(parts.mu_spread?.has(ticker) && { mu_spread: parts.mu_spread.get(ticker) }),
    ...(applied?.has(ticker) && { factor: applied.get(ticker) }),
    ...(parts.mu_model?.has(ticker) && { mu_model: parts.mu_model.get(ticker) }),
    ...intervalOf(ticker, parts),
    metrics: metricsOf?.get(ticker) ?? null,
    coverage: coverages?.get(ticker) ?? null,
    ...(shrinkages?.has(ticker) && { shrinkage: shrinkages.get(ticker) }),
  }));
  const missing = "tickers" in wanted ? missingOf(wanted.tickers, parts) : [];
  const fitting = {
    forecasts: boundedList(forecasts, 1 / 2),
    missing: boundedList(missing, 3 / 8),
  };
  const baselines = [...(metrics?.baselines ?? [])].flatMap(([name, table]) =>
    table?.score === undefined ? [] : [[name, table.score?.pooled ?? null] as const],
  );
  const view = openSchema(forecastViewSchema).safeParse({
    ...{ id, operation },
    output_name: outputName,
    window,
    ...(verdict === undefined ? {} : { verdict }),
    ...(refits?.blocks === undefined ? {} : { refits: refits.blocks }),
    ...(choice?.candidates === undefined ? {} : { choice: choiceView(choice, choice.candidates) }),
    count,
    ...fitting,
    left_out: forecasts.length - fitting.forecasts.length + missing.length - fitting.missing.length,
    metrics: {
      score,
      ...(Object.keys(outOfFold).length === 0 ? {} : { out_of_fold: outOfFold }),
      baselines: Object.fromEntries(baselines),
      ...(shrinkage && { shrinkage }),
      ...(byDate && { shrinkage_by_date: byDate }),
    },
    intervals: metrics?.intervals ? intervals : null,
  });
  if (view.success && parts.schema === OUTPUT_SCHEMA_NAME) return view.data;
  const message = `${outputName} is not an output of mucast`;
  throw new MucastError("invalid_data", message, { source: outputName, ...NOT_AN_OUTPUT, advice: REPLACED });
}

const REPLACED = "The blob was edited or replaced after the job had written it. Run the job again.";

/** The interval of the row of mu; nothing if the job had no intervals. */
function intervalOf(ticker: string, { forecasts, mu_dates, window, metrics }: OutputParts): object {
  const { dates, lower = null, upper = null } = forecasts?.get(ticker) ?? {};
  const isOfMu = dates !== undefined && dates === (mu_dates?.get(ticker) ?? window?.as_of);
  return metrics?.intervals && isOfMu ? { interval: { lower, upper } } : {};
}

/** As many of the first entries as fit into a share of the lists of an answer. */
function boundedList<T>(entries: readonly T[], share: number): readonly T[] {
  return boundedCopy(entries, { bytes: share * SIZES.forecast, text: SIZES.text })!;
}

type ChoiceParts = NonNullable<OutputParts["choice"]>;

function choiceView(choice: ChoiceParts, candidates: NonNullable<ChoiceParts["candidates"]>): object {
  const figures = candidates.map((candidate) => ({
    ...candidate,
    gain: typeof candidate.gain === "number" ? candidate.gain : null,
  }));
  return {
    ...choice,
    candidates: boundedList(rankedCandidates(figures).slice(0, MAX_CANDIDATES_SHOWN), 1 / 8),
    count: candidates.length,
  };
}

function missingOf(tickers: readonly string[], { mu, reasons }: OutputParts): MissingForecast[] {
  return [...new Set(tickers)]
    .filter((ticker) => !mu.has(ticker))
    .map((ticker) => {
      const { code, message } = reasons.get(ticker) ?? {
        code: null,
        message: "the output has no such ticker",
      };
      return { ticker, code, message: message.slice(0, MAX_MESSAGE_LENGTH) };
    });
}
