import type { Day } from "../../contract/market/dates.ts";
import type { TestedTicker } from "./candidate-losses.ts";
import type { Members } from "./members.ts";

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

/** Shape (n): a ticker's out-of-fold forecasts, with the members that were chosen at the first date of each fold. */
export function foldForecasts(ticker: TestedTicker, membersAt: (first: Day) => Members): Float64Array {
  const forecasts = new Float64Array(ticker.days.length);
  for (const { from, to, first } of ticker.folds) {
    memberMeans(ticker.predicted, membersAt(first), forecasts, [from, to]);
  }
  return forecasts;
}
