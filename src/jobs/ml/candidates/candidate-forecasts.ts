import type { Warning } from "../../../contract/problems/warnings.ts";
import type { Fold } from "../../../panel/folds.ts";
import type { DatedPredictions } from "../../shared/choice/aligned-forecasts.ts";
import type { Listed } from "../../shared/listed-warnings.ts";
import { type FittedTicker, notConverged } from "../fitted-ticker.ts";

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
  const { folds, fit, outOfFold, outOfFoldSpans, score, warnings, listed } = own;
  const days = Int32Array.from(testedRows(folds), (row) => fit.days[row]!);
  return {
    tested: { days: shared(days, base?.tested.days), predicted: outOfFold, spans: outOfFoldSpans },
    score: { ...score, days: shared(score.days, base?.score.days) },
    warnings,
    listed,
  };
}

/** The forecasts of two parts of a candidate's fits of one ticker. */
export function joinedForecasts(a: CandidateForecasts, b: CandidateForecasts): CandidateForecasts {
  return {
    tested: joined(a.tested, b.tested),
    score: joined(a.score, b.score),
    warnings: joinedWarnings(a.warnings, b.warnings),
    listed: b.listed,
  };
}

/** Each has NaN where only the other has forecasts. */
function joined(a: DatedPredictions, b: DatedPredictions): DatedPredictions {
  return {
    days: a.days,
    predicted: a.predicted.map((value, row) => (Number.isNaN(value) ? b.predicted[row]! : value)),
    spans: a.spans.length > 0 ? a.spans : b.spans,
  };
}

/** Every warning once; fits that did not converge are counted together. */
export function joinedWarnings(a: readonly Warning[], b: readonly Warning[]): Warning[] {
  const all = [...a, ...b];
  const unconverged = all.filter(({ code }) => code === "not_converged");
  const others = all.filter(({ code }) => code !== "not_converged");
  const byTicker = Map.groupBy(unconverged, ({ ticker }) => ticker);
  return [
    ...new Map(others.map((warning) => [warning.message, warning])).values(),
    ...[...byTicker].map(([ticker, own]) =>
      notConverged(
        own.reduce((sum, { count = 0 }) => sum + count, 0),
        ticker,
      ),
    ),
  ];
}

/** Positions in the fit rows. */
export function testedRows(folds: readonly Fold[]): number[] {
  return folds.flatMap(({ testStart, testEnd }) =>
    Array.from({ length: testEnd - testStart }, (_, i) => testStart + i),
  );
}

function shared(days: Int32Array, other: Int32Array | undefined): Int32Array {
  const isEqual = other?.length === days.length && days.every((day, i) => day === other[i]);
  return isEqual ? other : days;
}
