import type { Warning } from "../../../contract/problems/warnings.ts";
import type { DatedPredictions } from "../../shared/choice/aligned-forecasts.ts";
import type { Listed } from "../../shared/listed-warnings.ts";
import type { FittedTicker } from "../fitted-ticker.ts";

/** What the choice needs of a candidate's fits of one ticker. */
export interface CandidateForecasts {
  /** The rows that its folds test, in time order. */
  readonly tested: DatedPredictions;
  readonly score: DatedPredictions;
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
}

/** @param base of the same ticker, by an earlier candidate: equal dates are kept once, because a job may have 100 candidates. */
export function forecastsOf(own: FittedTicker, base: CandidateForecasts | undefined): CandidateForecasts {
  const { heldOut, score, warnings, listed } = own;
  return {
    tested: { ...heldOut, days: shared(heldOut.days, base?.tested.days) },
    score: { ...score, days: shared(score.days, base?.score.days) },
    warnings,
    listed,
  };
}

function shared(days: Int32Array, other: Int32Array | undefined): Int32Array {
  const isEqual = other?.length === days.length && days.every((day, i) => day === other[i]);
  return isEqual ? other : days;
}
