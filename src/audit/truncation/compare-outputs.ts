import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { FindingCode } from "../findings.ts";
import {
  DATED_PARTS,
  type DatedPart,
  lateJoins,
  type OutputPart,
  outputParts,
  type ValueOf,
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
  const joins = await lateJoins(whole, signal);
  /** Late tickers that have no forecast up to the cut. */
  const later = new Set<string>();
  for await (const { a, b } of joined(outputParts(whole, signal), outputParts(cut, signal))) {
    const { part, ticker } = (a ?? b)!;
    if (part === "mu" || part === "mu_dates") {
      // The one from the whole blobs has another date.
      if (b !== undefined) mu.add(b);
      continue;
    }
    const isJoining = part === "forecasts" && joins.has(ticker);
    if (isJoining && !(a?.part === part && a.value.dates[0]! <= date)) later.add(ticker);
    if (b === undefined && later.has(ticker)) continue;
    if (a === undefined || b === undefined) {
      const [there, missing] = [a === undefined ? null : "there", b === undefined ? null : "there"];
      onDifference(ticker, { code: "ticker_changed", at: part, whole: there, cut: missing });
      continue;
    }
    const onCompared = (values: number) => (compared.values += values);
    if (a.part !== "forecasts" || b.part !== "forecasts") {
      const found = compareValues(CODES[part as keyof typeof CODES], "", a.value, b.value, onCompared);
      for (const difference of found) onDifference(ticker, difference);
      continue;
    }
    for (const difference of compareForecasts(a.value, b.value, { date, delay }, onCompared))
      onDifference(ticker, difference);
    compared.tickers += 1;
    compared.forecasts += b.value.dates.length;
    const difference = mu.differenceOf(ticker, a.value);
    if (difference !== undefined) onDifference(ticker, difference);
  }
  return compared;
}

/** `mu` of the cut blobs, which is the forecast of the whole ones at its date. */
class CutMu {
  readonly #mu = new Map<string, number>();
  readonly #dates = new Map<string, string>();

  add({ part, ticker, value }: OutputPart): void {
    if (part === "mu") this.#mu.set(ticker, value);
    else if (part === "mu_dates") this.#dates.set(ticker, value);
  }

  differenceOf(ticker: string, whole: ValueOf<"forecasts">): Difference | undefined {
    const [mu, date] = [this.#mu.get(ticker), this.#dates.get(ticker)];
    if (mu === undefined) return undefined;
    const forecast = whole.predicted[whole.dates.indexOf(date ?? "")] ?? null;
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

/** Fits, folds and training curves end before the cut and are compared completely, bit for bit. */
const CODES = {
  fits: "fit_changed",
  cross_validation: "fold_changed",
  training: "training_changed",
} as const satisfies Partial<Record<DatedPart, FindingCode>>;

const FORECAST_CODES = [
  ["predicted", "forecast_changed"],
  ["realised", "forecast_changed"],
  ["lower", "interval_changed"],
  ["upper", "interval_changed"],
  ["model", "forecast_changed"],
] as const;

/** Of the forecasts, only those dated up to the cut are compared, bit for bit. */
function* compareForecasts(
  whole: ValueOf<"forecasts">,
  cut: ValueOf<"forecasts">,
  { date, delay }: Pick<OutputPair, "date" | "delay">,
  onCompared: (values: number) => void,
): Generator<Difference> {
  const dates = whole.dates.filter((each) => each <= date);
  const cutDates = cut.dates;
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
  for (const [name, code] of FORECAST_CODES) {
    const [a, b] = [whole[name], cut[name]];
    // The model's forecasts are present if a factor is 0, which may be that of a later block.
    if (a === undefined || b === undefined) continue;
    onCompared(dates.length);
    for (const [i, each] of dates.entries()) {
      if (Object.is(a[i], b[i])) continue;
      // The last labels of the cut blobs lie after their end.
      if (name === "realised" && i >= dates.length - 1 - delay && b[i] === null) continue;
      yield { code, at: `${name} ${each}`, whole: a[i] ?? null, cut: b[i] ?? null };
    }
  }
}

function* compareValues(
  code: FindingCode,
  at: string,
  whole: unknown,
  cut: unknown,
  onCompared: (values: number) => void,
): Generator<Difference> {
  if (!isNested(whole) || !isNested(cut)) {
    onCompared(1);
    if (!Object.is(whole, cut)) yield { code, at, whole: scalarOf(whole), cut: scalarOf(cut) };
    return;
  }
  for (const key of new Set([...Object.keys(whole), ...Object.keys(cut)])) {
    const below = Array.isArray(whole) ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`;
    yield* compareValues(code, below, whole[key], cut[key], onCompared);
  }
}

function isNested(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function scalarOf(value: unknown): Scalar {
  return value === undefined || isNested(value) ? null : (value as Scalar);
}
