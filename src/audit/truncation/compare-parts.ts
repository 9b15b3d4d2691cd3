import type { FindingCode } from "../findings.ts";
import type { DatedPart, ReadObject, ReadValue } from "../job/output-parts.ts";

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
export interface PartPair {
  readonly part: Exclude<DatedPart, "mu" | "mu_dates">;
  readonly whole: ReadValue;
  readonly cut: ReadValue;
  /** The last date of the cut blobs, `YYYY-MM-DD`. */
  readonly date: string;
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
export function* compareParts(
  { part, whole, cut, date }: PartPair,
  onCompared: (values: number) => void,
): Generator<Difference> {
  if (part !== "forecasts") yield* compareValues(CODES[part], "", whole, cut, onCompared);
  else yield* compareForecasts(whole as ReadObject, cut as ReadObject, date, onCompared);
}

const FORECAST_CODES = {
  predicted: "forecast_changed",
  realised: "forecast_changed",
  lower: "interval_changed",
  upper: "interval_changed",
} as const satisfies Record<string, FindingCode>;

function* compareForecasts(
  whole: ReadObject,
  cut: ReadObject,
  date: string,
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
    const [a, b] = [numbersOf(whole[name]), numbersOf(cut[name])];
    onCompared(dates.length);
    for (const [i, each] of dates.entries()) {
      if (Object.is(a[i], b[i])) continue;
      // The last label of the cut blobs lies after their end.
      if (name === "realised" && i === dates.length - 1 && Number.isNaN(b[i])) continue;
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
