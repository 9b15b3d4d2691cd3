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

/** Keeps no more than the answer of get_forecast. Relies on the order in which jobs write: `mu` before all parts by ticker. */
export async function readForecast(
  outputName: string,
  chunks: AsyncIterable<Uint8Array>,
  selection: TickerSelection,
): Promise<ForecastView> {
  const output = Object.create(null) as OutputParts;
  let mu: ReadonlyMap<string, number> | undefined;
  const choose = () => (mu ??= chooseTickers(outputName, output.mu, selection));
  const wanted = wantedParts((ticker) => choose().has(ticker));
  await readMembers({ name: outputName, chunks }, wanted, undefined, output);
  // Without the members that are undefined.
  const draft = JSON.parse(JSON.stringify(draftView(output, choose(), selection, outputName)));
  const view = openSchema(forecastViewSchema).safeParse(draft);
  if (view.success && output.schema === OUTPUT_SCHEMA_NAME) return view.data;
  throw notOutput(outputName);
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
  const byTicker = new Map(all);
  const chosen =
    "largest" in selection
      ? // JSON.parse puts names such as `10` first.
        all
          .sort(([a, x], [b, y]) => Math.abs(y) - Math.abs(x) || compareCodePoints(a, b))
          .slice(0, selection.largest)
          .map(([ticker]) => ticker)
      : selection.tickers.filter((ticker) => byTicker.has(ticker));
  return new Map(chosen.map((ticker) => [ticker, byTicker.get(ticker)!]));
}

function wantedParts(isChosen: (ticker: string) => boolean): Wanted {
  const quality = all("pooled", "cross_section", "r2_zero_median", "by_delay", "exposures");
  const coverage = (name: string) => name !== "by_year" && name !== "high_volatility";
  return {
    ...all("schema", "id", "operation", "window", "verdict", "warnings", "failures", "mu"),
    ...{ mu_dates: isChosen, mu_model: isChosen, mu_spread: isChosen, forecasts: isChosen },
    refits: { blocks: true },
    choice: all("candidates", "honest", "measure", "best", "optimism"),
    metrics: {
      score: { ...quality, by_ticker: isChosen },
      out_of_fold: quality,
      baselines: () => ({ score: { pooled: true } }),
      shrinkage: { pooled: true, by_date: true, by_ticker: isChosen, applied: isChosen },
      intervals: {
        ...all("method", "alpha", "bound"),
        pooled: coverage,
        by_ticker: (ticker) => isChosen(ticker) && coverage,
      },
    },
  };
}

function all(...members: readonly string[]): Readonly<Record<string, true>> {
  return Object.fromEntries(members.map((member) => [member, true]));
}

function draftView(
  output: OutputParts,
  mu: ReadonlyMap<string, number>,
  selection: TickerSelection,
  outputName: string,
): object {
  const { id, operation, window = null, verdict, refits, choice, metrics } = output;
  const { by_ticker: coverages, ...intervals } = metrics?.intervals ?? {};
  const { by_ticker: metricsOf, ...score } = metrics?.score ?? {};
  const { by_ticker: shrinkages, pooled: shrinkage, by_date: byDate, applied } = metrics?.shrinkage ?? {};
  const all = [...mu].map(([ticker, value]) => {
    const { dates, lower, upper } = output.forecasts?.[ticker] ?? {};
    // Of the row of mu.
    const hasInterval =
      metrics?.intervals && (output.mu_dates?.[ticker] ?? window?.as_of ?? null) === last(dates);
    return {
      ...{ ticker, mu: value, mu_date: output.mu_dates?.[ticker], mu_spread: output.mu_spread?.[ticker] },
      ...{ factor: applied?.[ticker], mu_model: output.mu_model?.[ticker] },
      interval: hasInterval ? { lower: last(lower) ?? null, upper: last(upper) ?? null } : undefined,
      metrics: metricsOf?.[ticker] ?? null,
      coverage: coverages?.[ticker] ?? null,
      shrinkage: shrinkages?.[ticker],
    };
  });
  const allMissing = "tickers" in selection ? missingOf(selection.tickers, mu, output) : [];
  const [forecasts, missing] = [boundedList(all, 1 / 2), boundedList(allMissing, 3 / 8)];
  const blocks = objectsIn(refits?.blocks);
  const baselines = Object.entries(metrics?.baselines ?? {});
  return {
    ...{ id, operation, output_name: outputName, window, verdict },
    refits: blocks.length > 1 ? { count: blocks.length - 1, last: blocks.at(-1)!.start } : undefined,
    choice: choice && choiceView(choice),
    count: Object.keys(output.mu ?? {}).length,
    ...{ forecasts, missing },
    left_out: all.length - forecasts.length + allMissing.length - missing.length,
    metrics: {
      score,
      out_of_fold: metrics?.out_of_fold,
      baselines: Object.fromEntries(baselines.map(([name, table]) => [name, table?.score?.pooled ?? null])),
      ...{ shrinkage, shrinkage_by_date: byDate },
    },
    intervals: metrics?.intervals ? intervals : null,
  };
}

function notOutput(outputName: string, what?: string): MucastError {
  const advice = "The blob was edited or replaced after the job had written it. Run the job again.";
  const message = `${outputName} is not an output of mucast${what === undefined ? "" : `: ${what}`}`;
  return new MucastError("invalid_data", message, { source: outputName, ...NOT_AN_OUTPUT, advice });
}

function choiceView({ candidates, ...choice }: NonNullable<OutputParts["choice"]>): object {
  const figures = objectsIn(candidates)
    .slice(0, LIMITS.candidates)
    .map(({ settings: _, dropped_on: __, gain, ...candidate }) => ({
      ...candidate,
      gain: typeof gain === "number" ? gain : null,
    }));
  const shown = rankedCandidates(figures).slice(0, MAX_CANDIDATES_SHOWN);
  return { ...choice, candidates: boundedList(shown, 1 / 8), count: figures.length };
}

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
    const { code, message } = reasons.find((each) => each.ticker === ticker) ?? {};
    if (code === undefined) return { ticker, code: null, message: "the output has no such ticker" };
    return { ticker, code: String(code), message: String(message).slice(0, MAX_MESSAGE_LENGTH) };
  });
}

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
