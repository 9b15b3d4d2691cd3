import type { ChoiceMeasure } from "../../contract/config/choice-config.ts";
import type { Day } from "../../contract/market/dates.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { finiteOrNull } from "../statistics.ts";
import { lossSeries, meanIc, sliceTested, squaredExcess, type TestedTicker } from "./candidate-losses.ts";
import { difference } from "./prequential.ts";

/** What forecasts are worth on the published out-of-fold rows, beside those of candidate 0. */
export interface Gain {
  readonly r2: number | null;
  /** The mean IC over dates; null if no date has enough tickers. */
  readonly ic: number | null;
  readonly gain: number | null;
  readonly t: number | null;
  /** The number of label dates on which candidate 0 has forecasts too; fewer than MIN_DATES give neither gain nor t. */
  readonly dates: number;
}

/**
 * Judges candidates and the choice on published rows.
 * @param chosen one per ticker, shape (n): the forecasts chosen in advance. @param from one per ticker: its first published row.
 * @returns the gains of each candidate's own forecasts, that of the published ones, each chosen before its label was known, and the terms of
 * the latter by label date.
 */
export function choiceGains(
  tickers: readonly TestedTicker[],
  chosen: readonly Float64Array[],
  from: readonly number[],
  candidates: number,
  measure: ChoiceMeasure,
) {
  const published = tickers.map((ticker, i) =>
    sliceTested({ ...ticker, predicted: [...ticker.predicted, chosen[i]!] }, from[i]!),
  );
  // Candidate 0 is the reference, so that each date compares it with the others on the same tickers.
  const { excess, days } = lossSeries(published, candidates + 1, measure, 0);
  const gains = excess.map((own, c): Gain => {
    const { mean, error, dates } = difference(excess[0]!, own, own.length);
    const isKnown = dates >= MIN_DATES;
    return {
      ...{ r2: r2Of(published, c), ic: meanIc(published, c), dates },
      gain: isKnown ? mean : null,
      t: isKnown && error > 0 ? mean / error : null,
    };
  });
  const byDay = Array.from(days, (day, d) => [day, excess[0]![d]! - excess[candidates]![d]!] as const);
  const gainByDay: ReadonlyMap<Day, number> = new Map(byDay.filter(([, gain]) => !Number.isNaN(gain)));
  return { gains: gains.slice(0, candidates), honest: gains[candidates]!, gainByDay };
}

/** The figure of a forecast that a measure compares: its R² or its mean IC. */
export function figureOf({ r2, ic }: Pick<Gain, "r2" | "ic">, measure: ChoiceMeasure): number | null {
  return measure === "ic" ? ic : r2;
}

/** How much too good the best candidate is on the rows that chose it; null if one of both has no figure. */
export function optimismOf(best: Gain, honest: Gain, measure: ChoiceMeasure): number | null {
  const [claimed, found] = [figureOf(best, measure), figureOf(honest, measure)];
  return claimed === null || found === null ? null : claimed - found;
}

/** 1 - sum (y - p)² / sum y², in the tickers' units, over the rows that a candidate forecasts. */
function r2Of(tickers: readonly TestedTicker[], candidate: number): number | null {
  let [saved, squares] = [0, 0];
  for (const { realised, predicted, unit } of tickers) {
    for (const [i, p] of predicted[candidate]!.entries()) {
      if (Number.isNaN(p) || !(unit > 0)) continue;
      saved -= squaredExcess(realised[i]!, p, 0) / unit;
      squares += realised[i]! ** 2 / unit;
    }
  }
  return finiteOrNull(saved / squares);
}
