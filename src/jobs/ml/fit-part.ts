import type { Day } from "../../contract/market/dates.ts";

/** Some of the fits of a candidate. A candidate of a race is fitted part by part, until it is dropped. */
export interface FitPart {
  /** The folds whose first test date is in [from, to). */
  readonly from: Day;
  readonly to: Day;
  /** Whether the fits that predict score rows are included. */
  readonly isFinal: boolean;
}

export const ALL_FITS: FitPart = {
  from: Number.NEGATIVE_INFINITY,
  to: Number.POSITIVE_INFINITY,
  isFinal: true,
};

/** The fits that predict score rows. */
export const FINAL_FITS: FitPart = { ...ALL_FITS, from: Number.POSITIVE_INFINITY };

export function isInPart({ from, to }: FitPart, firstTested: Day): boolean {
  return from <= firstTested && firstTested < to;
}
