import type { Day } from "../../contract/market/dates.ts";
import { mean } from "../../evaluate/statistics.ts";
import { type Band, meanBand } from "./over-dates.ts";

/** The number of bins of equal width, at most: the labels of more would overlap on a narrow screen. */
const MAX_BINS = 5;

/** The mean of daily figures over the dates on which models were `from` to `to` dates old. */
export interface AgeSkill {
  readonly from: number;
  readonly to: number;
  readonly dates: number;
  readonly mean: number;
  readonly band: Band | null;
}

/** The dates on which models were refitted. */
export interface RefitDates {
  /** Shape (n), ascending: distinct dates with a forecast. */
  readonly forecastDays: Int32Array;
  /** The first dates of all blocks except the first, ascending, at least one. */
  readonly refits: readonly Day[];
  /** Dates of a block. */
  readonly every: number;
}

/**
 * Daily figures by the age of the model that made the forecasts: the number of dates with a forecast between the first date of
 * its block and the date. In the first block, the last `every` dates count from 0, and all dates before them have age 0.
 * @param days shape (m), ascending, among the dates with a forecast; `values` likewise.
 * @returns bins with a date, the youngest first.
 */
export function skillByAge(days: Int32Array, values: Float64Array, dates: RefitDates): AgeSkill[] {
  const { every } = dates;
  const width = Math.ceil(every / MAX_BINS);
  const ages = modelAges(dates);
  const bins = Map.groupBy(days.keys(), (i) => Math.floor(ages.get(days[i]!)! / width));
  return [...bins]
    .sort(([a], [b]) => a - b)
    .map(([bin, found]) => {
      const own = Float64Array.from(found, (i) => values[i]!);
      const from = bin * width;
      const to = Math.min(from + width, every) - 1;
      return { from, to, dates: own.length, mean: mean(own), band: meanBand(own) };
    });
}

function modelAges({ forecastDays, refits, every }: RefitDates): Map<Day, number> {
  const ages = new Map<Day, number>();
  let next = 0;
  // The first block ends where the second starts.
  const second = forecastDays.findIndex((day) => day >= refits[0]!);
  let start = (second < 0 ? forecastDays.length : second) - every;
  for (const [i, day] of forecastDays.entries()) {
    while (refits[next] !== undefined && day >= refits[next]!) {
      start = i;
      next++;
    }
    ages.set(day, Math.max(0, Math.min(i - start, every - 1)));
  }
  return ages;
}
