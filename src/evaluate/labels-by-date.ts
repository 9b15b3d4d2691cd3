import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import type { DatedForecasts } from "./forecast-rows.ts";
import { averageRanks } from "./rank.ts";
import { type DateLayout, dateLayout, laidByDate } from "./rows-by-date.ts";
import { type CorrelationSide, correlationSide } from "./statistics.ts";

/** A correlation across fewer tickers is noise: two always correlate by 1 or -1. */
export const MIN_TICKERS = 3;

/** The labels of one date, at positions [from, to), prepared for correlations. */
export interface DateLabels {
  readonly day: Day;
  readonly from: number;
  readonly to: number;
  readonly side: CorrelationSide;
  readonly rankSide: CorrelationSide;
}

/** The labels of all tickers, date after date, ranked once for all forecasts. */
export interface LabelsByDate {
  readonly layout: DateLayout;
  /** Ascending; without dates of fewer than MIN_TICKERS tickers or of equal labels. */
  readonly dates: readonly DateLabels[];
}

/** @param rows labelled rows, with tickers in the order of the sums of a date. */
export function* labelsByDate(
  rows: readonly Pick<DatedForecasts, "days" | "realised">[],
): Pausable<LabelsByDate> {
  const layout = yield* dateLayout(rows);
  const realised = yield* laidByDate(
    layout,
    rows.map((row) => row.realised),
  );
  const { first, starts } = layout;
  const dates: DateLabels[] = [];
  for (let d = 0; d + 1 < starts.length; d++) {
    const [from, to] = [starts[d]!, starts[d + 1]!];
    if (to - from < MIN_TICKERS) continue;
    yield 0;
    const labels = realised.subarray(from, to);
    const side = correlationSide(labels);
    // Ranks are constant exactly when the values are, so IC and RankIC cover the same dates.
    const rankSide = side && correlationSide(averageRanks(labels));
    if (side !== null && rankSide !== null) dates.push({ day: first + d, from, to, side, rankSide });
  }
  return { layout, dates };
}
