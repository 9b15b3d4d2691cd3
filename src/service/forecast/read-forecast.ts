import {
  type ForecastView,
  forecastViewSchema,
  type MissingForecast,
} from "../../contract/api/forecast-view.ts";
import { LIMITS } from "../../contract/config/limits.ts";
import { NOT_AN_OUTPUT } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { boundedCopy } from "../../contract/json/bounded-json.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { MAX_CANDIDATES_SHOWN, rankedCandidates } from "../../contract/output/choice.ts";
import { OUTPUT_SCHEMA_NAME, type OutputBlob } from "../../contract/output/output-blob.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";
import { quote } from "../../ingest/faults.ts";
import { readMembers, type Wanted } from "../../outputs/read-members.ts";

/** The wanted tickers: by name, or the given number of those with the largest |mu|. */
type TickerSelection = { readonly tickers: readonly string[] } | { readonly largest: number };

/** What was read of an output that may have been edited. */
type Unchecked<T> = T extends object ? { readonly [K in keyof T]?: Unchecked<T[K]> } : T;
type OutputParts = Unchecked<OutputBlob>;

/**
 * Reads the wanted forecasts from the stream of an output, and keeps no more of it. Relies on the order in which every job writes: `mu` before
 * all parts by ticker.
 * @param chunks the bytes of the blob.
 * @throws MucastError of `chunks`; unreadable_blob, invalid_data if they are not an output.
 */
export async function readForecast(
  outputName: string,
  chunks: AsyncIterable<Uint8Array>,
  selection: TickerSelection,
): Promise<ForecastView> {
  const output = Object.create(null) as OutputParts;
  let mu: ReadonlyMap<string, number> | undefined;
  const chosen = () => (mu ??= chooseTickers(outputName, output.mu, selection));
  const wanted = wantedParts((ticker) => chosen().has(ticker));
  await readMembers({ name: outputName, chunks }, wanted, undefined, output);
  return forecastView(output, chosen(), selection, outputName);
}

/** A `mu` that no job writes is an error: otherwise a damaged output would look like one without forecasts. */
function chooseTickers(
  outputName: string,
  mu: unknown,
  selection: TickerSelection,
): ReadonlyMap<string, number> {
  if (!isObject(mu)) throw notOutput(outputName, "mu is not an object");
  const all = Object.entries(mu as Record<string, number>);
  const odd = all.find(([, value]) => !Number.isFinite(value));
  if (odd !== undefined) throw notOutput(outputName, `mu of ${quote(odd[0])} is not a finite number`);
  if ("largest" in selection) {
    // JSON.parse puts names such as `10` first.
    all.sort(([a, x], [b, y]) => Math.abs(y) - Math.abs(x) || compareCodePoints(a, b));
    return new Map(all.slice(0, selection.largest));
  }
  const byTicker = new Map(all);
  return new Map(
    selection.tickers
      .filter((ticker) => byTicker.has(ticker))
      .map((ticker) => [ticker, byTicker.get(ticker)!]),
  );
}

function wantedParts(isChosen: (ticker: string) => boolean): Wanted {
  const quality = {
    pooled: true,
    cross_section: true,
    r2_zero_median: true,
    by_delay: true,
    exposures: true,
  };
  const coverage = (name: string) => name !== "by_year" && name !== "high_volatility";
  return {
    ...{
      schema: true,
      id: true,
      operation: true,
      window: true,
      verdict: true,
      warnings: true,
      failures: true,
    },
    ...{ mu: true, mu_dates: isChosen, mu_model: isChosen, mu_spread: isChosen, forecasts: isChosen },
    refits: { blocks: true },
    choice: { candidates: true, honest: true, measure: true, best: true, optimism: true },
    metrics: {
      score: { ...quality, by_ticker: isChosen },
      out_of_fold: quality,
      baselines: () => ({ score: { pooled: true } }),
      shrinkage: { pooled: true, by_date: true, by_ticker: isChosen, applied: isChosen },
      intervals: {
        ...{ method: true, alpha: true, bound: true, pooled: coverage },
        by_ticker: (ticker) => isChosen(ticker) && coverage,
      },
    },
  };
}

/**
 * Builds the answer of get_forecast, within its size limit.
 * @param mu of the chosen tickers that have one, in the order of the answer.
 * @throws MucastError invalid_data if the parts are not those of an output.
 */
function forecastView(
  output: OutputParts,
  mu: ReadonlyMap<string, number>,
  selection: TickerSelection,
  outputName: string,
): ForecastView {
  const { id, operation, window = null, verdict, refits, choice, metrics } = output;
  const { by_ticker: coverages, ...intervals } = metrics?.intervals ?? {};
  const { by_ticker: metricsOf, ...score } = metrics?.score ?? {};
  const { by_ticker: shrinkages, pooled: shrinkage, by_date: byDate, applied } = metrics?.shrinkage ?? {};
  const forecasts = [...mu].map(([ticker, value]) =>
    defined({
      ticker,
      mu: value,
      mu_date: output.mu_dates?.[ticker],
      mu_spread: output.mu_spread?.[ticker],
      factor: applied?.[ticker],
      mu_model: output.mu_model?.[ticker],
      interval: intervalOf(ticker, output),
      metrics: metricsOf?.[ticker] ?? null,
      coverage: coverages?.[ticker] ?? null,
      shrinkage: shrinkages?.[ticker],
    }),
  );
  const missing = "tickers" in selection ? missingOf(selection.tickers, mu, output) : [];
  const fitting = { forecasts: boundedList(forecasts, 1 / 2), missing: boundedList(missing, 3 / 8) };
  const blocks = objectsIn(refits?.blocks);
  const baselines = Object.entries(metrics?.baselines ?? {}).map(([name, table]) => [
    name,
    table?.score?.pooled ?? null,
  ]);
  const view = openSchema(forecastViewSchema).safeParse(
    defined({
      ...{ id, operation, output_name: outputName, window, verdict },
      refits: blocks.length > 1 ? { count: blocks.length - 1, last: blocks.at(-1)!.start } : undefined,
      choice: choice && choiceView(choice),
      count: Object.keys(output.mu ?? {}).length,
      ...fitting,
      left_out: forecasts.length - fitting.forecasts.length + missing.length - fitting.missing.length,
      metrics: defined({
        score,
        out_of_fold: metrics?.out_of_fold,
        baselines: Object.fromEntries(baselines),
        ...{ shrinkage, shrinkage_by_date: byDate },
      }),
      intervals: metrics?.intervals ? intervals : null,
    }),
  );
  if (view.success && output.schema === OUTPUT_SCHEMA_NAME) return view.data;
  throw notOutput(outputName);
}

function notOutput(outputName: string, what?: string): MucastError {
  const advice = "The blob was edited or replaced after the job had written it. Run the job again.";
  const message = `${outputName} is not an output of mucast${what === undefined ? "" : `: ${what}`}`;
  return new MucastError("invalid_data", message, { source: outputName, ...NOT_AN_OUTPUT, advice });
}

/** The interval of the row of mu; undefined if the job had no intervals. */
function intervalOf(
  ticker: string,
  { forecasts, mu_dates, window, metrics }: OutputParts,
): object | undefined {
  const { dates, lower, upper } = forecasts?.[ticker] ?? {};
  const date = last(dates);
  const isOfMu = date !== undefined && date === (mu_dates?.[ticker] ?? window?.as_of);
  return metrics?.intervals && isOfMu
    ? { lower: last(lower) ?? null, upper: last(upper) ?? null }
    : undefined;
}

function choiceView({ candidates, ...choice }: NonNullable<OutputParts["choice"]>): object {
  const figures = objectsIn(candidates)
    .slice(0, LIMITS.candidates)
    .map(({ settings: _, dropped_on: __, ...candidate }) => ({
      ...candidate,
      gain: typeof candidate.gain === "number" ? candidate.gain : null,
    }));
  return {
    ...choice,
    candidates: boundedList(rankedCandidates(figures).slice(0, MAX_CANDIDATES_SHOWN), 1 / 8),
    count: figures.length,
  };
}

/** Codes of warnings that explain why a ticker has no `mu`. */
const REASONS: ReadonlySet<unknown> = new Set<Warning["code"]>(["stale_ticker", "no_prices", "no_features"]);
const MAX_MESSAGE_LENGTH = 500;

function missingOf(
  tickers: readonly string[],
  mu: ReadonlyMap<string, number>,
  { warnings, failures }: OutputParts,
): MissingForecast[] {
  const reasons = [...objectsIn(warnings).filter(({ code }) => REASONS.has(code)), ...objectsIn(failures)];
  const missing = [...new Set(tickers)].filter((ticker) => !mu.has(ticker));
  return missing.map((ticker) => {
    const reason = reasons.find((each) => each.ticker === ticker);
    if (reason === undefined) return { ticker, code: null, message: "the output has no such ticker" };
    return {
      ticker,
      code: String(reason.code),
      message: String(reason.message).slice(0, MAX_MESSAGE_LENGTH),
    };
  });
}

/** As many of the first entries as fit into a share of the lists of an answer. */
function boundedList<T>(entries: readonly T[], share: number): readonly T[] {
  return boundedCopy(entries, { bytes: share * SIZES.forecast, text: SIZES.text })!;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectsIn(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function last(list: unknown): unknown {
  return Array.isArray(list) ? list.at(-1) : undefined;
}

function defined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
