import type { Day } from "../contract/market/dates.ts";
import { type DatedForecasts, inTickerOrder } from "./forecast-rows.ts";
import { dateLayout, datesWith, valuesByDate } from "./rows-by-date.ts";

/**
 * The level, log-return, that forecasts dated `from` and later start from, until the next span begins. Ascending by date. The level is 0
 * before the first span, so without target `relative` there is none.
 */
export type Levels = readonly { readonly from: Day; readonly level: number }[];

/** Shape (n). @param days ascending. */
export function levelsAt(spans: Levels, days: Int32Array): Float64Array {
  let next = 0;
  return Float64Array.from(days, (day) => {
    while (next < spans.length && spans[next]!.from <= day) next++;
    return spans[next - 1]?.level ?? 0;
  });
}

/** The rows with their levels. */
export function withLevels<T extends Pick<DatedForecasts, "days">>(
  rows: T,
  spans: Levels,
): T & Pick<DatedForecasts, "levels"> {
  return spans.length === 0 ? rows : { ...rows, levels: levelsAt(spans, rows.days) };
}

/** The spans of levels by date. @param days ascending. */
export function levelSpans(days: Int32Array, levels: Float64Array): Levels {
  return [...levels.keys()]
    .filter((i) => levels[i] !== (i === 0 ? 0 : levels[i - 1]))
    .map((i) => ({ from: days[i]!, level: levels[i]! }));
}

/**
 * The level of each date that all its tickers share, so that shrinking forecasts towards it keeps their order. Forecasts of a date come
 * from different levels only after a failed refit, in folds or parts that begin on different dates, or with a choice among targets; their
 * mean is then the level of the date.
 */
export function commonLevels(
  rows: readonly (Pick<DatedForecasts, "ticker" | "days"> & { readonly spans: Levels })[],
): Levels {
  if (rows.every(({ spans }) => spans.length === 0)) return [];
  const ordered = inTickerOrder(rows);
  const layout = dateLayout(ordered);
  const laid = valuesByDate(
    layout,
    ordered.map(({ days, spans }) => levelsAt(spans, days)),
  );
  const dates = [...datesWith(layout)];
  const levels = dates.map(({ from, to }) => {
    const own = laid.subarray(from, to);
    // The mean of equal numbers is not always the same number.
    return own.every((level) => level === own[0]) ? own[0]! : own.reduce((a, b) => a + b) / own.length;
  });
  return levelSpans(
    Int32Array.from(dates, ({ day }) => day),
    Float64Array.from(levels),
  );
}

/** Forecasts whose distance from their level is multiplied by a factor. @param levels shape (n); absent if they are 0. */
export function shrinkForecasts(
  predicted: Float64Array,
  levels: Float64Array | undefined,
  factor: number,
): Float64Array {
  if (factor === 1) return predicted;
  if (levels === undefined) return predicted.map((value) => factor * value);
  return predicted.map((value, i) => levels[i]! + factor * (value - levels[i]!));
}

/** The inverse of `shrinkForecasts`. @param factors shape (n), above 0. */
export function unshrinkForecasts(
  predicted: Float64Array,
  levels: Float64Array,
  factors: Float64Array,
): Float64Array {
  return predicted.map((value, i) =>
    factors[i] === 1 ? value : levels[i]! + (value - levels[i]!) / factors[i]!,
  );
}
