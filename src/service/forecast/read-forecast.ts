import {
  type ForecastView,
  forecastViewSchema,
  type MissingForecast,
} from "../../contract/api/forecast-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { boundedCopy } from "../../contract/json/bounded-json.ts";
import { Turns } from "../../contract/machine/pausable.ts";
import { OUTPUT_SCHEMA_NAME } from "../../contract/output/output-blob.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";
import { ByteWindow } from "../../ingest/json/byte-window.ts";
import { JsonReader } from "../../ingest/json/json-reader.ts";
import { type OutputParts, readParts, type TickerSelection } from "./output-parts.ts";

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
  const bytes = new ByteWindow({ name: outputName, chunks });
  const turns = new Turns(undefined);
  const steps = readParts(new JsonReader(bytes), wanted);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return forecastView(step.value, wanted, outputName);
      await bytes.refill();
      await turns.pauseIfOver();
    }
  } finally {
    await bytes.close();
  }
}

const MAX_MESSAGE_LENGTH = 500;

/**
 * Builds the answer of get_forecast, within its size limit.
 * @throws MucastError invalid_data if the parts are not those of an output.
 */
function forecastView(parts: OutputParts, wanted: TickerSelection, outputName: string): ForecastView {
  const forecasts = [...parts.mu].map(([ticker, mu]) => ({
    ticker,
    mu,
    ...(parts.muDates.has(ticker) && { mu_date: parts.muDates.get(ticker) }),
    ...(parts.muSpread.has(ticker) && { mu_spread: parts.muSpread.get(ticker) }),
    ...intervalOf(ticker, parts),
    metrics: parts.metrics.get(ticker) ?? null,
    coverage: parts.coverage.get(ticker) ?? null,
    ...(parts.shrinkage.has(ticker) && { shrinkage: parts.shrinkage.get(ticker) }),
  }));
  const missing = "tickers" in wanted ? missingOf(wanted.tickers, parts) : [];
  const fitting = {
    forecasts: boundedList(forecasts),
    missing: boundedList(missing),
  };
  const view = openSchema(forecastViewSchema).safeParse({
    id: parts.plain.id,
    operation: parts.plain.operation,
    output_name: outputName,
    window: parts.window,
    ...(parts.verdict === undefined ? {} : { verdict: parts.verdict }),
    ...(parts.refits === undefined ? {} : { refits: parts.refits }),
    count: parts.count,
    ...fitting,
    left_out: forecasts.length - fitting.forecasts.length + missing.length - fitting.missing.length,
    metrics: {
      score: Object.fromEntries(parts.score),
      ...(parts.outOfFold.size === 0 ? {} : { out_of_fold: Object.fromEntries(parts.outOfFold) }),
      baselines: Object.fromEntries(parts.baselines),
      ...(parts.pooledShrinkage !== null && { shrinkage: parts.pooledShrinkage }),
    },
    intervals: parts.intervals,
  });
  if (view.success && parts.plain.schema === OUTPUT_SCHEMA_NAME) return view.data;
  throw new MucastError("invalid_data", `${outputName} is not an output of mucast`, { source: outputName });
}

/** The interval of the row of mu; nothing if the job had no intervals. */
function intervalOf(ticker: string, { ends, muDates, window, intervals }: OutputParts): object {
  const { dates, lower = null, upper = null } = ends.get(ticker) ?? {};
  const isOfMu = dates !== undefined && dates === (muDates.get(ticker) ?? window?.as_of);
  return intervals !== null && isOfMu ? { interval: { lower, upper } } : {};
}

/** As many of the first entries as fit into half an answer. */
function boundedList<T>(entries: readonly T[]): readonly T[] {
  return boundedCopy(entries, { bytes: SIZES.forecast / 2, text: SIZES.text })!;
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
