import { Turns } from "../../contract/machine/pausable.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { FindingCode } from "../findings.ts";
import {
  DATED_PARTS,
  type DatedPart,
  lateJoins,
  type OutputPart,
  outputParts,
  type ReadObject,
  type ReadValue,
} from "../job/output-parts.ts";

/** Two outputs on this machine: from the whole blobs, and from those that end after `date` (`YYYY-MM-DD`). */
interface OutputPair {
  readonly whole: string;
  readonly cut: string;
  readonly date: string;
  /** Of the labels. */
  readonly delay: number;
}

/** The extent of the comparison. */
export interface Compared {
  tickers: number;
  /** Forecasts dated up to the cut. */
  forecasts: number;
  values: number;
}

/**
 * Compares two outputs ticker by ticker.
 * @param onDifference gets each differing value, with its ticker.
 * @throws MucastError of the files; the reason of the signal.
 */
export async function compareOutputs(
  { whole, cut, date, delay }: OutputPair,
  onDifference: (ticker: string, difference: Difference) => void,
  signal: AbortSignal,
): Promise<Compared> {
  const compared: Compared = { tickers: 0, forecasts: 0, values: 0 };
  const mu = new CutMu();
  const turns = new Turns(signal);
  const joins = await lateJoins(whole, signal);
  /** Late tickers that have no forecast up to the cut. */
  const later = new Set<string>();
  for await (const { a, b } of joined(outputParts(whole, signal), outputParts(cut, signal))) {
    await turns.pauseIfOver();
    const { part, ticker } = (a ?? b)!;
    if (part === "mu" || part === "mu_dates") {
      // The one from the whole blobs has another date.
      if (b !== undefined) mu.add(b);
      continue;
    }
    if (part === "forecasts" && joins.has(ticker) && !hasForecastUpTo(date, a)) later.add(ticker);
    if (b === undefined && later.has(ticker)) continue;
    if (a === undefined || b === undefined) {
      const [there, missing] = [a === undefined ? null : "there", b === undefined ? null : "there"];
      onDifference(ticker, { code: "ticker_changed", at: part, whole: there, cut: missing });
      continue;
    }
    const pair = { part, whole: a.value, cut: b.value, date, delay };
    for (const difference of compareParts(pair, (values) => (compared.values += values))) {
      onDifference(ticker, difference);
    }
    if (part !== "forecasts") continue;
    compared.tickers += 1;
    compared.forecasts += ((b.value as ReadObject).dates as ArrayLike<string>).length;
    const difference = mu.differenceOf(ticker, a.value as ReadObject);
    if (difference !== undefined) onDifference(ticker, difference);
  }
  return compared;
}

function hasForecastUpTo(date: string, forecasts: OutputPart | undefined): boolean {
  const { dates = [] } = (forecasts?.value ?? {}) as { readonly dates?: ArrayLike<string> };
  return dates.length > 0 && dates[0]! <= date;
}

/** `mu` of the cut blobs, which is the forecast of the whole ones at its date. */
class CutMu {
  readonly #mu = new Map<string, number>();
  readonly #dates = new Map<string, string>();

  add({ part, ticker, value }: OutputPart): void {
    if (part === "mu") this.#mu.set(ticker, value as number);
    else this.#dates.set(ticker, value as string);
  }

  differenceOf(ticker: string, whole: ReadObject): Difference | undefined {
    const [mu, date] = [this.#mu.get(ticker), this.#dates.get(ticker)];
    if (mu === undefined) return undefined;
    const row = [...(whole.dates as readonly string[])].indexOf(date ?? "");
    const forecast = (whole.predicted as ArrayLike<number>)[row] ?? null;
    if (Object.is(mu, forecast)) return undefined;
    return { code: "forecast_changed", at: `mu ${date}`, whole: forecast, cut: mu };
  }
}

/** The parts of both outputs in order; one side is missing if only one output has the ticker. */
async function* joined(
  whole: AsyncGenerator<OutputPart>,
  cut: AsyncGenerator<OutputPart>,
): AsyncGenerator<{ readonly a?: OutputPart | undefined; readonly b?: OutputPart | undefined }> {
  try {
    let [a, b] = [await next(whole), await next(cut)];
    while (a !== undefined || b !== undefined) {
      const order = orderOf(a, b);
      yield { a: order <= 0 ? a : undefined, b: order >= 0 ? b : undefined };
      if (order <= 0) a = await next(whole);
      if (order >= 0) b = await next(cut);
    }
  } finally {
    await Promise.all([whole.return(undefined), cut.return(undefined)]);
  }
}

async function next(parts: AsyncGenerator<OutputPart>): Promise<OutputPart | undefined> {
  const step = await parts.next();
  return step.done === true ? undefined : step.value;
}

/** Negative if `a` comes first, positive if `b` does, 0 for the same part of the same ticker. */
function orderOf(a: OutputPart | undefined, b: OutputPart | undefined): number {
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  return DATED_PARTS.indexOf(a.part) - DATED_PARTS.indexOf(b.part) || compareCodePoints(a.ticker, b.ticker);
}

/** A value that differs between the two runs. */
export interface Difference {
  readonly code: FindingCode;
  /** Its path below the ticker, such as `predicted 2024-03-11` or `folds[2].rmse`. */
  readonly at: string;
  /** With the whole blobs, and with the cut ones; null without a value, and for values that are not scalars. */
  readonly whole: Scalar;
  readonly cut: Scalar;
}

type Scalar = string | number | boolean | null;

/** What a ticker has in one part, with the whole blobs and with the cut ones. */
interface PartPair {
  readonly part: Exclude<DatedPart, "mu" | "mu_dates">;
  readonly whole: ReadValue;
  readonly cut: ReadValue;
  /** The last date of the cut blobs, `YYYY-MM-DD`. */
  readonly date: string;
  readonly delay: number;
}

const CODES = {
  fits: "fit_changed",
  cross_validation: "fold_changed",
  training: "training_changed",
} as const satisfies Partial<Record<DatedPart, FindingCode>>;

/**
 * Compares the results of two runs for one ticker, bit for bit. Of the forecasts, only those dated up to the cut are compared; fits,
 * folds and training curves end before it and are compared completely.
 * @param onCompared gets the number of compared values.
 */
function* compareParts(
  { part, whole, cut, ...cutAt }: PartPair,
  onCompared: (values: number) => void,
): Generator<Difference> {
  if (part !== "forecasts") yield* compareValues(CODES[part], "", whole, cut, onCompared);
  else yield* compareForecasts(whole as ReadObject, cut as ReadObject, cutAt, onCompared);
}

const FORECAST_CODES = {
  predicted: "forecast_changed",
  realised: "forecast_changed",
  lower: "interval_changed",
  upper: "interval_changed",
  model: "forecast_changed",
} as const satisfies Record<string, FindingCode>;

function* compareForecasts(
  whole: ReadObject,
  cut: ReadObject,
  { date, delay }: Pick<PartPair, "date" | "delay">,
  onCompared: (values: number) => void,
): Generator<Difference> {
  const dates = [...(whole.dates as readonly string[])].filter((each) => each <= date);
  const cutDates = [...(cut.dates as readonly string[])];
  const other = dates.findIndex((each, i) => each !== cutDates[i]);
  if (other >= 0 || cutDates.length > dates.length) {
    const at = other >= 0 ? other : dates.length;
    yield {
      code: "forecast_changed",
      at: "dates",
      whole: dates[at] ?? null,
      cut: cutDates[at] ?? null,
    };
    return;
  }
  for (const [name, code] of Object.entries(FORECAST_CODES)) {
    // Present if a factor is 0, which may be that of a later block.
    if (name === "model" && (whole.model === undefined || cut.model === undefined)) continue;
    const [a, b] = [numbersOf(whole[name]), numbersOf(cut[name])];
    onCompared(dates.length);
    for (const [i, each] of dates.entries()) {
      if (Object.is(a[i], b[i])) continue;
      // The last labels of the cut blobs lie after their end.
      if (name === "realised" && i >= dates.length - 1 - delay && Number.isNaN(b[i])) continue;
      yield { code, at: `${name} ${each}`, whole: scalarOf(a[i]), cut: scalarOf(b[i]) };
    }
  }
}

/** Arrays of nulls alone, or of none, are numbers as well. */
function numbersOf(value: ReadValue | undefined): Float64Array {
  return value instanceof Float64Array ? value : new Float64Array(0);
}

function* compareValues(
  code: FindingCode,
  at: string,
  whole: ReadValue | undefined,
  cut: ReadValue | undefined,
  onCompared: (values: number) => void,
): Generator<Difference> {
  const [a, b] = [membersOf(whole), membersOf(cut)];
  if (a === undefined || b === undefined) {
    onCompared(1);
    if (a !== undefined || b !== undefined || !Object.is(whole, cut)) {
      yield { code, at, whole: scalarOf(whole), cut: scalarOf(cut) };
    }
    return;
  }
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    const below = typeof key === "number" ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`;
    yield* compareValues(code, below, a.get(key), b.get(key), onCompared);
  }
}

function membersOf(value: ReadValue | undefined): Map<string | number, ReadValue> | undefined {
  if (value instanceof Float64Array || Array.isArray(value)) {
    return new Map((value as readonly ReadValue[]).entries());
  }
  if (typeof value !== "object" || value === null) return undefined;
  return new Map(Object.entries(value));
}

function scalarOf(value: ReadValue | undefined): Scalar {
  if (value === undefined || typeof value === "object") return null;
  return typeof value === "number" && Number.isNaN(value) ? null : value;
}
