import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { fileSource, readMembers } from "../../outputs/read-members.ts";
import type { FindingCode } from "../findings.ts";
import {
  DATED_PARTS,
  type DatedPart,
  type OutputPart,
  outputParts,
  type ValueOf,
} from "../job/output-parts.ts";

/** Two outputs on this machine: from the whole blobs, and from those that end after `date` (`YYYY-MM-DD`). */
interface OutputPair {
  readonly whole: string;
  readonly cut: string;
  readonly date: string;
  readonly delay: number;
}

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
  const onCompared = (values: number) => (compared.values += values);
  /** Of the cut blobs; `mu` is the forecast of the whole ones at its date. */
  const mu = { values: new Map<string, number>(), dates: new Map<string, string>() };
  const late = await lateTickers(whole, signal);
  /** Late tickers that have no forecast up to the cut. */
  const later = new Set<string>();
  for await (const { a, b } of pairParts(outputParts(whole, signal), outputParts(cut, signal))) {
    const { part, ticker } = (a ?? b)!;
    if (part === "mu" || part === "mu_dates") {
      // The one from the whole blobs has another date.
      if (b?.part === "mu") mu.values.set(ticker, b.value);
      else if (b?.part === "mu_dates") mu.dates.set(ticker, b.value);
      continue;
    }
    if (part === "forecasts" && late.has(ticker) && !(a?.part === part && a.value.dates[0]! <= date))
      later.add(ticker);
    if (b === undefined && later.has(ticker)) continue;
    const add = (difference: Difference) => onDifference(ticker, difference);
    if (a === undefined || b === undefined) {
      const [there, missing] = [a === undefined ? null : "there", b === undefined ? null : "there"];
      add({ code: "ticker_changed", at: part, whole: there, cut: missing });
    } else if (a.part === "forecasts" && b.part === "forecasts") {
      for (const difference of compareForecasts(a.value, b.value, { date, delay }, onCompared))
        add(difference);
      compared.tickers += 1;
      compared.forecasts += b.value.dates.length;
      const [value, muDate] = [mu.values.get(ticker), mu.dates.get(ticker) ?? ""];
      const forecast = a.value.predicted[a.value.dates.indexOf(muDate)] ?? null;
      if (value !== undefined && !Object.is(value, forecast))
        add({ code: "forecast_changed", at: `mu ${muDate}`, whole: forecast, cut: value });
    } else {
      const code = CODES[part as keyof typeof CODES];
      for (const difference of compareValues(code, "", a.value, b.value, onCompared)) add(difference);
    }
  }
  return compared;
}

/** The parts of both outputs in order; one side is missing if only one output has the ticker. */
async function* pairParts(whole: AsyncGenerator<OutputPart>, cut: AsyncGenerator<OutputPart>) {
  const next = async (parts: AsyncGenerator<OutputPart>) =>
    (await parts.next()).value as OutputPart | undefined;
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

/** Negative if `a` comes first, positive if `b` does, 0 for the same part of the same ticker. */
function orderOf(a: OutputPart | undefined, b: OutputPart | undefined): number {
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  return DATED_PARTS.indexOf(a.part) - DATED_PARTS.indexOf(b.part) || compareCodePoints(a.ticker, b.ticker);
}

/** The tickers of an output that join a later block; none without refits. */
async function lateTickers(path: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const wanted = { refits: { by_ticker: () => ({ joins: true }) } };
  const { refits } = await readMembers<Partial<OutputBlob>>(fileSource(path), wanted, signal);
  const tickers = Object.entries(refits?.by_ticker ?? {});
  return new Set(tickers.filter(([, { joins }]) => joins !== undefined).map(([ticker]) => ticker));
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
