import { MIN_DATES, meanQuantile } from "../../contract/output/test-quantile.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { dateT } from "../../evaluate/mean-test.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import { dateIcs, onDates, type PermutedSkill, permutedSkill, tickerPermutations } from "./permuted-skill.ts";

/** The minimum number of forecasts for a meaningful mean. */
export const MIN_FORECASTS = 20;

/** The IC of forecasts, or of one part of them, over dates. */
export interface DateIcs {
  /** Mean over dates of the correlation with the label across tickers; null if no date has one. */
  readonly icMean: number | null;
  /** t over dates; null if there is none. */
  readonly t: number | null;
  readonly dates: number;
  /** The t that chance exceeds in one of forty cases; null for fewer than 30 dates. */
  readonly quantile: number | null;
}

/** How much of the IC of forecasts comes from lasting differences between tickers, and how much from their changes over time. */
export interface SkillParts {
  readonly whole: DateIcs;
  /**
   * The IC of the mean of each ticker's earlier forecasts. With a t over dates alone, two orders of the same tickers that agree by chance
   * would look like skill, since both last: p is the rank of the IC among those of the same means assigned to other tickers.
   */
  readonly lasting: DateIcs & Pick<PermutedSkill, "p">;
  /** The IC of the forecast minus that mean. */
  readonly timing: DateIcs & Pick<PermutedSkill, "rank" | "permutations" | "p" | "highestPermuted">;
}

/**
 * Splits each forecast into the mean of its ticker's earlier forecasts and the rest. A mean over all dates would know later returns:
 * forecasts that follow past returns have a high mean if returns of the set itself were high.
 * @param rows labelled or not; those without a label count only in the means.
 * @returns undefined for too few dates or tickers, like permutedSkill.
 */
export function skillParts(rows: readonly DatedForecasts[], permutations: number): SkillParts | undefined {
  const split = rows.map(earlierMeans);
  const lasting = rows.map((row, t) => ({ ...row, predicted: split[t]! }));
  const timing = rows.map((row, t) => ({
    ...row,
    predicted: row.predicted.map((value, i) => value - split[t]![i]!),
  }));
  const permuted = permutedSkill(timing.map(known), permutations);
  if (permuted === undefined) return undefined;
  const { rank, p, highestPermuted } = permuted;
  return {
    whole: icsOf(rows),
    lasting: lastingIcs(lasting.map(known), permutations),
    timing: { ...icsOf(timing.map(known)), rank, permutations, p, highestPermuted },
  };
}

/** Shape (n): the mean of the forecasts before each row; NaN for fewer than MIN_FORECASTS. */
function earlierMeans({ predicted }: DatedForecasts): Float64Array {
  let sum = 0;
  return predicted.map((value, i) => {
    const mean = i < MIN_FORECASTS ? Number.NaN : sum / i;
    sum += value;
    return mean;
  });
}

/** The rows that have a value. */
function known(row: DatedForecasts): DatedForecasts {
  const from = row.predicted.findIndex((value) => !Number.isNaN(value));
  const start = from < 0 ? row.predicted.length : from;
  return {
    ...row,
    days: row.days.subarray(start),
    predicted: row.predicted.subarray(start),
    realised: row.realised.subarray(start),
  };
}

function lastingIcs(rows: readonly DatedForecasts[], permutations: number): SkillParts["lasting"] {
  const byDate = onDates(rows);
  const order = Int32Array.from({ length: byDate.dates }, (_, i) => i);
  const own = mean(dateIcs(byDate, order));
  let rank = 1;
  for (const tickers of tickerPermutations(rows.length, permutations)) {
    const predicted = Array.from(tickers, (ticker) => byDate.predicted[ticker]!);
    if (!(mean(dateIcs({ ...byDate, predicted }, order)) < own)) rank++;
  }
  return { ...icsOf(rows), p: rank / (permutations + 1) };
}

function icsOf(rows: readonly DatedForecasts[]): DateIcs {
  const byDate = onDates(rows);
  const ics = dateIcs(
    byDate,
    Int32Array.from({ length: byDate.dates }, (_, i) => i),
  );
  const t = dateT(ics, 1);
  return {
    icMean: finiteOrNull(mean(ics)),
    t: t === null ? null : finiteOrNull(t),
    dates: ics.length,
    quantile: ics.length < MIN_DATES ? null : meanQuantile(ics.length, 0.975),
  };
}
