import { MucastError } from "../contract/errors/errors.ts";
import { type Day, parseDay } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import type { ForecastRows } from "../evaluate/forecast-rows.ts";
import type { Bounds } from "../evaluate/intervals/conformal.ts";
import { levelsAt, unshrinkForecasts } from "../evaluate/levels.ts";
import type { OutputSummary } from "./output-summary.ts";

/**
 * Score rows of one ticker with their ends; `trainingMean` is NaN if the output does not have it. `ranked` are the model's own forecasts of an
 * output with shrinkage `pooled`, except from 0.2.0.
 */
export interface ScoredRows extends ForecastRows, Bounds {}

/** The lists of a ticker in `forecasts` or `cross_validation`, each of shape (n); NaN for null. */
export interface Series {
  readonly days: Int32Array;
  readonly lists: Readonly<Record<string, Float64Array>>;
}

/** The lists of each part besides `dates`; `model` is often absent. */
const LISTS = {
  forecasts: ["predicted", "realised", "lower", "upper", "model"],
  cross_validation: ["predicted", "realised"],
} as const;
/** Lists of `forecasts` that may have nulls. */
const WITH_GAPS: readonly string[] = ["realised", "lower", "upper"];

type DayOf = (text: string) => Day | undefined;

/** Tickers mostly have the same dates, so each text is parsed once. */
function dayReader(): DayOf {
  const known = new Map<string, Day | undefined>();
  return (text) => {
    if (!known.has(text)) known.set(text, typeof text === "string" ? parseDay(text) : undefined);
    return known.get(text);
  };
}

/**
 * Turns the lists of one ticker after the other into typed arrays: lists would burden garbage collection for as long as they exist.
 * @param name of the output in errors.
 * @returns a function that throws MucastError invalid_data if lists differ in length or have other values, or if dates do not ascend.
 */
export function seriesReader(name: string) {
  const dayOf = dayReader();
  const fault = (path: string, what: string, value: unknown) => {
    const message = `${name} is not an output of a job: ${path} ${what}`;
    return new MucastError("invalid_data", message, { source: name, path, value });
  };
  const listIn = (place: string, value: unknown, list: string): readonly unknown[] => {
    const found = (value as Readonly<Record<string, unknown>> | null)?.[list];
    if (Array.isArray(found)) return found;
    throw fault(`${place}.${list}`, "is not a list", found);
  };
  return (part: keyof typeof LISTS, ticker: string, value: unknown): Series => {
    const place = `${part}.${ticker}`;
    const dates = listIn(place, value, "dates") as readonly string[];
    const days = new Int32Array(dates.length);
    for (let i = 0; i < dates.length; i++) {
      const day = dayOf(dates[i]!);
      if (day === undefined || (i > 0 && day <= days[i - 1]!)) {
        const what = day === undefined ? "is not a date" : "does not come after the date before it";
        throw fault(`${place}.dates[${i}]`, `${what}: ${JSON.stringify(dates[i])}`, dates[i]);
      }
      days[i] = day;
    }
    const lists: Record<string, Float64Array> = {};
    for (const list of LISTS[part]) {
      if (list === "model" && !Object.hasOwn(value as object, list)) continue;
      const values = listIn(place, value, list);
      const { length } = values;
      if (length !== days.length)
        throw fault(`${place}.${list}`, `has ${length} values for ${days.length} dates`, length);
      const mayBeNull = part === "forecasts" && WITH_GAPS.includes(list);
      const numbers = new Float64Array(length);
      for (let i = 0; i < length; i++) {
        const number = values[i];
        if (!Number.isFinite(number) && !(mayBeNull && number === null))
          throw fault(`${place}.${list}[${i}]`, `is no number: ${JSON.stringify(number)}`, number);
        numbers[i] = number === null ? Number.NaN : (number as number);
      }
      lists[list] = numbers;
    }
    return { days, lists };
  };
}

/** The score rows of an output, tickers ascending by code point. */
export function scoredRows(summary: OutputSummary, series: Iterable<[string, Series]>): ScoredRows[] {
  const { fits, refits, metrics, model } = summary;
  const dayOf = dayReader();
  const byRow = blockReader(refits, dayOf);
  const { levels, applied } = metrics.shrinkage ?? {};
  const spans = levels?.score.map(({ start, level }) => ({ from: dayOf(start)!, level }));
  return inTickerOrder(series).map(([ticker, { days, lists }]) => {
    const [fit, blocks] = [memberNamed(fits, ticker), memberNamed(refits?.by_ticker, ticker)];
    let ranked = lists.model;
    // Before shrinkage `pooled` multiplied them by factors above 0. Outputs of 0.2.0 do not record the levels.
    if (ranked === undefined && spans !== undefined && model.shrinkage === "pooled") {
      const factors = byRow(days, blocks?.factors, memberNamed(applied, ticker));
      ranked = unshrinkForecasts(lists.predicted!, levelsAt(spans, days), factors);
    }
    return {
      ticker,
      days,
      predicted: lists.predicted!,
      ...(ranked && { ranked }),
      realised: lists.realised!,
      lower: lists.lower!,
      upper: lists.upper!,
      trainingMean: byRow(days, blocks?.label_means, fit?.label_mean),
      labelDeviation: fit?.label_deviation,
    };
  });
}

/** Values by row: those of the blocks of refits, or one for all; NaN if the output does not have it. */
function blockReader(refits: OutputSummary["refits"], dayOf: DayOf) {
  const starts = refits?.blocks.map(({ start }) => dayOf(start)!) ?? [];
  return (days: Int32Array, byBlock: readonly (number | null)[] = [], single = Number.NaN): Float64Array => {
    if (refits === undefined) return new Float64Array(days.length).fill(single);
    let block = 0;
    return Float64Array.from(days, (day) => {
      while (block + 1 < starts.length && starts[block + 1]! <= day) block++;
      return byBlock[block] ?? Number.NaN;
    });
  };
}

/** One fold of one ticker: its out-of-fold rows are [from, to). */
export interface FoldRows {
  /** From 1, in time order. Folds test the last rows, so a ticker with fewer of them lacks the first numbers. */
  readonly number: number;
  readonly fold: NonNullable<OutputSummary["cross_validation"]>[string]["folds"][number];
  readonly from: number;
  readonly to: number;
}

/** The out-of-fold rows of a ticker. The training mean of a row is that of its fold, NaN in outputs of 0.2.0. */
export interface TestedRows extends ForecastRows {
  /** In time order; together they have all rows. */
  readonly folds: readonly FoldRows[];
}

/** @throws MucastError invalid_data if the folds of a ticker do not add up to its rows. */
export function outOfFoldRows(
  name: string,
  { cross_validation = {}, fits }: OutputSummary,
  series: Iterable<[string, Series]>,
): TestedRows[] {
  const counts = Object.values(cross_validation).map(({ folds }) => folds.length);
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  return inTickerOrder(series).map(([ticker, { days, lists }]) => {
    const { folds } = memberNamed(cross_validation, ticker)!;
    const trainingMean = new Float64Array(days.length);
    let to = 0;
    const tested = folds.map((fold, i) => {
      const from = to;
      to += fold.n;
      trainingMean.fill(fold.label_mean ?? Number.NaN, from, to);
      return { number: most - folds.length + i + 1, fold, from, to };
    });
    if (to !== days.length) {
      const path = `cross_validation.${ticker}.folds`;
      const message = `${name} is not an output of a job: the folds in ${path} do not add up to its ${days.length} rows`;
      throw new MucastError("invalid_data", message, { source: name, path });
    }
    return {
      ...{ ticker, days, trainingMean, folds: tested },
      predicted: lists.predicted!,
      realised: lists.realised!,
      labelDeviation: memberNamed(fits, ticker)?.label_deviation,
    };
  });
}

function memberNamed<T>(part: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return part !== undefined && Object.hasOwn(part, name) ? part[name] : undefined;
}

/** The members of a by-ticker part, ascending by code point: a JavaScript object moves tickers such as `10`. */
export function byTicker<T>(part: Readonly<Record<string, T>>): [ticker: string, value: T][] {
  return inTickerOrder(Object.entries(part));
}

function inTickerOrder<T>(members: Iterable<[string, T]>): [ticker: string, value: T][] {
  return [...members].sort(([a], [b]) => compareCodePoints(a, b));
}
