import { MucastError } from "../contract/errors/errors.ts";
import { type Day, parseDay } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import type { ForecastRows } from "../evaluate/forecast-rows.ts";
import type { Bounds } from "../evaluate/intervals/conformal.ts";
import { levelsAt, unshrinkForecasts } from "../evaluate/levels.ts";

/**
 * Score rows of one ticker with their ends; `trainingMean` is NaN if the output does not have it. `ranked` are the model's own forecasts of an
 * output with shrinkage `pooled`, except from 0.2.0 and before.
 */
export interface ScoredRows extends ForecastRows, Bounds {}

/**
 * The score rows of an output as typed arrays, tickers ascending by code point.
 * @throws MucastError invalid_data if lists differ in length, or dates do not ascend.
 */
export function scoredRows(name: string, document: OutputBlob): ScoredRows[] {
  const { forecasts } = document;
  const dayOf = dayReader();
  const meansOf = meanReader(document, dayOf);
  const modelOf = modelReader(document, dayOf);
  return byTicker(forecasts).map(([ticker, forecast]) => {
    const place = `forecasts.${ticker}`;
    const days = daysOf(name, place, forecast.dates, dayOf);
    const { model = forecast.predicted } = forecast;
    const lists = ["predicted", "realised", "lower", "upper", "model"] as const;
    checkLengths(name, place, { ...forecast, model }, lists, days.length);
    const predicted = new Float64Array(forecast.predicted);
    const ranked =
      forecast.model === undefined ? modelOf(ticker, days, predicted) : new Float64Array(forecast.model);
    return {
      ticker,
      days,
      predicted,
      ...(ranked && { ranked }),
      realised: withGaps(forecast.realised),
      lower: withGaps(forecast.lower),
      upper: withGaps(forecast.upper),
      trainingMean: meansOf(ticker, days),
      labelDeviation: memberNamed(document.fits, ticker)?.label_deviation,
    };
  });
}

/** The mean of the labels that the models of a ticker had learned from, by row: for its fit, or for the fits of its blocks. */
function meanReader({ fits, refits }: OutputBlob, dayOf: DayOf) {
  const byRow = blockReader(refits, dayOf);
  return (ticker: string, days: Int32Array): Float64Array =>
    byRow(days, memberNamed(refits?.by_ticker, ticker)?.label_means, memberNamed(fits, ticker)?.label_mean);
}

/** The forecasts before shrinkage `pooled` multiplied them by factors above 0; undefined for other outputs, and those of 0.2.0. */
function modelReader({ metrics: { shrinkage }, model, refits }: OutputBlob, dayOf: DayOf) {
  const byRow = blockReader(refits, dayOf);
  const spans = shrinkage?.levels?.score.map(({ start, level }) => ({ from: dayOf(start)!, level }));
  return (ticker: string, days: Int32Array, predicted: Float64Array): Float64Array | undefined => {
    if (spans === undefined || model.shrinkage !== "pooled") return undefined;
    const last = memberNamed(shrinkage?.applied, ticker);
    const factors = byRow(days, memberNamed(refits?.by_ticker, ticker)?.factors, last);
    return unshrinkForecasts(predicted, levelsAt(spans, days), factors);
  };
}

/** Values by row: those of the blocks of refits, or one for all; NaN if the output does not have it. */
function blockReader(refits: OutputBlob["refits"], dayOf: DayOf) {
  const starts = refits?.blocks.map(({ start }) => dayOf(start) ?? Number.NaN) ?? [];
  return (days: Int32Array, byBlock: readonly (number | null)[] = [], single = Number.NaN): Float64Array => {
    if (refits === undefined) return new Float64Array(days.length).fill(single);
    let block = 0;
    return Float64Array.from(days, (day) => {
      while (block + 1 < starts.length && starts[block + 1]! <= day) block++;
      return byBlock[block] ?? Number.NaN;
    });
  };
}

function memberNamed<T>(part: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return part !== undefined && Object.hasOwn(part, name) ? part[name] : undefined;
}

/** The out-of-fold rows of an output; undefined if it has no cross-validation. Outputs of 0.2.0 have no training means: NaN. */
export function outOfFoldRows(
  name: string,
  { cross_validation, fits }: OutputBlob,
): ForecastRows[] | undefined {
  if (cross_validation === undefined) return undefined;
  const dayOf = dayReader();
  return byTicker(cross_validation).map(([ticker, tested]) => {
    const place = `cross_validation.${ticker}`;
    const days = daysOf(name, place, tested.dates, dayOf);
    checkLengths(name, place, tested, ["predicted", "realised"], days.length);
    return {
      ticker,
      days,
      predicted: new Float64Array(tested.predicted),
      realised: new Float64Array(tested.realised),
      trainingMean: foldMeans(tested.folds, days, dayOf),
      labelDeviation: memberNamed(fits, ticker)?.label_deviation,
    };
  });
}

/** The mean of the labels that the fold of each row learned from. */
function foldMeans(
  folds: NonNullable<OutputBlob["cross_validation"]>[string]["folds"],
  days: Int32Array,
  dayOf: DayOf,
): Float64Array {
  const ends = folds.map(({ test_end }) => dayOf(test_end) ?? Number.NaN);
  let fold = 0;
  return Float64Array.from(days, (day) => {
    while (ends[fold]! < day) fold++;
    return folds[fold]?.label_mean ?? Number.NaN;
  });
}

/** The members of a by-ticker part, ascending by code point: a JavaScript object moves tickers such as `10`. */
export function byTicker<T>(part: Readonly<Record<string, T>>): [ticker: string, value: T][] {
  return Object.entries(part).sort(([a], [b]) => compareCodePoints(a, b));
}

type DayOf = (text: string) => Day | undefined;

/** Tickers mostly have the same dates, so each text is parsed once. */
function dayReader(): DayOf {
  const known = new Map<string, Day | undefined>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const day = parseDay(text);
    known.set(text, day);
    return day;
  };
}

function daysOf(name: string, place: string, dates: readonly string[], dayOf: DayOf): Int32Array {
  const days = new Int32Array(dates.length);
  for (let i = 0; i < dates.length; i++) {
    const text = dates[i]!;
    const day = dayOf(text);
    if (day === undefined || (i > 0 && day <= days[i - 1]!)) {
      const path = `${place}.dates[${i}]`;
      const what = day === undefined ? "is not a date" : "does not come after the date before it";
      throw faulty(name, path, `${path} ${what}: ${JSON.stringify(text)}`, text);
    }
    days[i] = day;
  }
  return days;
}

function checkLengths<K extends string>(
  name: string,
  place: string,
  lists: Readonly<Record<K, readonly unknown[]>>,
  members: readonly K[],
  length: number,
): void {
  for (const member of members) {
    const found = lists[member].length;
    if (found === length) continue;
    const path = `${place}.${member}`;
    throw faulty(name, path, `${path} has ${found} values for ${length} dates`, found);
  }
}

function faulty(source: string, path: string, what: string, value: unknown): MucastError {
  return new MucastError("invalid_data", `${source} is not an output of a job: ${what}`, {
    source,
    path,
    value,
  });
}

function withGaps(values: readonly (number | null)[]): Float64Array {
  const found = new Float64Array(values.length);
  for (let i = 0; i < found.length; i++) found[i] = values[i] ?? Number.NaN;
  return found;
}
