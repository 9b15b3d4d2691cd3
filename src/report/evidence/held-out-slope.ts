import { dateLayout } from "../../evaluate/rows-by-date.ts";
import { dateShrinkage } from "../../evaluate/shrinkage.ts";
import { type Band, bandOf } from "../statistics/over-dates.ts";
import type { OutputEvidence } from "./output-evidence.ts";

/** The slope of returns on forecasts, over rows that the models did not learn from. */
export interface HeldOutSlope {
  readonly value: number | null;
  /** 95 %, with dates as units; null if the output does not have it. */
  readonly band: Band | null;
}

/**
 * The slope of labels on forecasts with dates as units, as in `metrics.shrinkage.by_date`. If an output of an older version lacks it,
 * it is computed from the out-of-fold rows. No output contains the held-out rows of networks, so older outputs of networks get only
 * the slope over rows, without a band: White's error over rows treats the tickers of a date as independent, and is about half as
 * large as it should be.
 */
export function heldOutSlope({
  document,
  outOfFold,
}: Pick<OutputEvidence, "document" | "outOfFold">): HeldOutSlope {
  const { shrinkage } = document.metrics;
  if (shrinkage === undefined) return { value: null, band: null };
  const byDate = shrinkage.by_date ?? (outOfFold === undefined ? undefined : dateShrinkage(outOfFold));
  if (byDate === undefined) return { value: shrinkage.pooled.b, band: null };
  const dates = heldOutDates(document, outOfFold);
  return { value: byDate.b, band: dates === undefined ? null : bandOf(byDate.b, byDate.se, dates) };
}

function heldOutDates(
  { verdict }: OutputEvidence["document"],
  outOfFold: OutputEvidence["outOfFold"],
): number | undefined {
  const judged = verdict?.judged.find(({ rows }) => rows !== "score");
  if (judged !== undefined) return judged.sizes.dates;
  if (outOfFold === undefined) return undefined;
  const { starts } = dateLayout(outOfFold);
  return starts.filter((start, d) => d > 0 && start > starts[d - 1]!).length;
}
