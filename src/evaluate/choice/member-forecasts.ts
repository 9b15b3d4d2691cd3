import type { Day } from "../../contract/market/dates.ts";
import { type Levels, levelSpans, levelsAt } from "../levels.ts";
import type { TestedTicker } from "./candidate-losses.ts";
import type { Members } from "./members.ts";
import type { PrequentialChoice } from "./prequential.ts";

/**
 * The mean of the members' forecasts of each row, summed in the order of the list. Members without a forecast of a row do not count; if none
 * has one, it is that of the first candidate that does.
 * @param predicted one per candidate, shape (n): NaN where a candidate has no forecast.
 * @param into shape (n); rows [from, to) are set.
 */
export function memberMeans(
  predicted: readonly Float64Array[],
  members: Members,
  into: Float64Array,
  [from, to]: readonly [number, number] = [0, into.length],
): void {
  for (let row = from; row < to; row++) {
    let [sum, count] = [0, 0];
    for (const c of members) {
      const value = predicted[c]![row]!;
      if (Number.isNaN(value)) continue;
      sum += value;
      count++;
    }
    into[row] = count === 0 ? firstForecast(predicted, row) : sum / count;
  }
}

function firstForecast(predicted: readonly Float64Array[], row: number): number {
  return predicted.map((own) => own[row]!).find((value) => !Number.isNaN(value)) ?? Number.NaN;
}

/**
 * What the means of members start from: the mean of their levels.
 * @param predicted as in `memberMeans`; `spans` one per candidate. @param parts of the rows, with the members that forecast each.
 */
export function memberLevels(
  days: Int32Array,
  predicted: readonly Float64Array[],
  spans: readonly Levels[],
  parts: readonly { readonly from: number; readonly to: number; readonly members: Members }[],
): Levels {
  if (spans.every(({ length }) => length === 0)) return [];
  const levels = predicted.map((own, c) => {
    const at = levelsAt(spans[c]!, days);
    return at.map((level, row) => (Number.isNaN(own[row]!) ? Number.NaN : level));
  });
  const means = new Float64Array(days.length);
  for (const { members, from, to } of parts) memberMeans(levels, members, means, [from, to]);
  return levelSpans(days, means);
}

/** The members for all tickers at the first date of a fold. */
export function membersAt({ changes }: Pick<PrequentialChoice, "changes">, first: Day): Members {
  return changes.findLast(({ day }) => day <= first)!.members;
}

/** Shape (n): a ticker's out-of-fold forecasts, with the members that were chosen at the first date of each fold. */
export function foldForecasts(ticker: TestedTicker, membersAt: (first: Day) => Members): Float64Array {
  const forecasts = new Float64Array(ticker.days.length);
  for (const { from, to, first } of ticker.folds) {
    memberMeans(ticker.predicted, membersAt(first), forecasts, [from, to]);
  }
  return forecasts;
}
