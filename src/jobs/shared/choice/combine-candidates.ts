import type { Candidate } from "../../../contract/config/choice/candidates.ts";
import { compareCodePoints } from "../../../contract/market/ticker-series.ts";
import type { Failure } from "../../../contract/problems/problem.ts";
import type { Warning } from "../../../contract/problems/warnings.ts";
import type { TestedFold, TestedTicker } from "../../../evaluate/choice/candidate-losses.ts";
import { memberLevels, memberMeans, membersAt } from "../../../evaluate/choice/member-forecasts.ts";
import type { PrequentialChoice } from "../../../evaluate/choice/prequential.ts";
import { concatenate } from "../../../evaluate/forecast-rows.ts";
import type { HeldOutPart, ModelledTicker, ScoreRows } from "../modelled-ticker.ts";
import { type ChoiceTicker, choiceResult, type JobChoice } from "./choice-result.ts";
import { choiceWarnings } from "./choice-warnings.ts";

type DatedPredictions = Pick<ScoreRows, "days" | "predicted" | "spans">;

/** What the choice needs of a candidate's models of one ticker. */
interface CandidateForecasts extends Pick<ModelledTicker, "spread" | "warnings" | "listed"> {
  /** The rows that test it, in parts: out of fold, or a network's validation and calibration part. */
  readonly tested: readonly DatedPredictions[];
  readonly score: DatedPredictions;
}

interface CandidateOutcome<S> {
  readonly candidate: Candidate<S>;
  readonly failures: readonly Failure[];
  readonly warnings: readonly Warning[];
  readonly forecasts: ReadonlyMap<string, CandidateForecasts>;
}

/** The fits of all candidates, of which only the forecasts and the first fits of each ticker are kept: the rest would take gigabytes. */
export class CandidateFits<S> {
  readonly outcomes: CandidateOutcome<S>[] = [];
  /** The fits of a ticker by the first candidate that could fit it, whose rows and folds are the ticker's. */
  readonly bases = new Map<string, { readonly candidate: number; readonly fits: ModelledTicker }>();

  add(
    candidate: Candidate<S>,
    fitted: readonly ModelledTicker[],
    { failures, warnings }: Pick<CandidateOutcome<S>, "failures" | "warnings">,
  ): void {
    const number = this.outcomes.length;
    for (const fits of fitted)
      if (!this.bases.has(fits.ticker)) this.bases.set(fits.ticker, { candidate: number, fits });
    const forecasts = new Map(fitted.map((own) => [own.ticker, this.#forecastsOf(own)]));
    this.outcomes.push({ candidate, failures, warnings, forecasts });
  }

  /** Dates that equal those of the ticker's first candidate are kept once, because a job may have 100. */
  #forecastsOf(own: ModelledTicker): CandidateForecasts {
    const { ticker, score, spread, warnings, listed } = own;
    const base = this.bases.get(ticker)!.fits;
    const keep = ({ days, predicted, spans }: DatedPredictions, other: DatedPredictions) => {
      const isEqual = other.days.length === days.length && days.every((day, i) => day === other.days[i]);
      return { days: isEqual ? other.days : days, predicted, spans };
    };
    return {
      tested: own.tested.map((part, i) => keep(part, base.tested[i]!)),
      score: keep(score, base.score),
      ...(spread === undefined ? {} : { spread }),
      ...{ warnings, listed },
    };
  }

  /**
   * The tickers that some candidate lost together with processes of the engine, with the failure of the first such candidate. They fail, as
   * without `choice`: memory or a signal may be at fault rather than the candidate, and a job that chose among the others would have other
   * forecasts than the same job on a quiet machine.
   */
  lost(): Map<string, Failure> {
    const lost = new Map<string, Failure>();
    for (const [c, { candidate, failures }] of this.outcomes.entries()) {
      for (const { ticker, code, message } of failures) {
        if (code !== "engine_crashed" || lost.has(ticker)) continue;
        lost.set(ticker, { ticker, code, message: nameCandidate(message, c, candidate.label) });
      }
    }
    return lost;
  }
}

/** Names the candidate, except the config itself. */
export function nameCandidate(message: string, c: number, label: string): string {
  return c === 0 ? message : `candidate ${c} (${label}): ${message}`;
}

/** A ticker that at least one candidate could fit. */
export interface CombinedTicker extends ChoiceTicker {
  readonly base: { readonly candidate: number; readonly fits: ModelledTicker };
  readonly fitted: readonly (CandidateForecasts | undefined)[];
}

/** The forecasts of the members of a ticker, for its published held-out rows and its score rows. */
export interface MemberForecasts {
  readonly heldOut: HeldOutPart;
  readonly score: ScoreRows;
}

export interface TestedFolds {
  readonly folds: readonly TestedFold[];
  /** The number of folds before those that are published. */
  readonly warmUpFolds: number;
}

/**
 * Chooses among candidates and combines their forecasts into one per row. Everything else about a ticker is that of the first candidate
 * that could fit it.
 * @param foldsOf the folds among the tested rows, joined. @param combine the ticker with the forecasts of its members.
 */
export function combineCandidates<S>(
  fits: CandidateFits<S>,
  choice: JobChoice,
  foldsOf: (fits: ModelledTicker) => TestedFolds,
  choose: (tickers: readonly TestedTicker[], warmUpRows: readonly number[]) => PrequentialChoice,
  combine: (ticker: CombinedTicker, forecasts: MemberForecasts, chosen: PrequentialChoice) => ModelledTicker,
) {
  const { outcomes, bases } = fits;
  const lost = fits.lost();
  const names = [...bases.keys()].filter((ticker) => !lost.has(ticker)).sort(compareCodePoints);
  const tested = names.map((name): CombinedTicker => {
    const base = bases.get(name)!;
    const fitted = outcomes.map(({ forecasts }) => forecasts.get(name));
    const { folds, warmUpFolds } = foldsOf(base.fits);
    const { unit } = base.fits;
    const rows = joinTestedRows(base.fits.tested, fitted);
    const warmUpRows = folds[warmUpFolds]?.from ?? folds.at(-1)?.to ?? 0;
    return { base, fitted, warmUpFolds, warmUpRows, tested: { ticker: name, ...rows, unit, folds } };
  });
  const chosen = choose(
    tested.map((ticker) => ticker.tested),
    tested.map(({ warmUpRows }) => warmUpRows),
  );
  const tickers = tested.map((ticker, i) => {
    return combine(ticker, joinMembers(ticker, chosen, chosen.predicted[i]!), chosen);
  });
  const result = choiceResult(tested, chosen, choice);
  const reports = outcomes.map(({ failures, warnings, forecasts }) => ({
    failures,
    warnings: [...[...forecasts.values()].flatMap((own) => own.warnings), ...warnings],
  }));
  // The failures of the tickers that no candidate could fit, as the first candidate reports them.
  const failures = new Map(lost);
  for (const failure of reports.flatMap((report) => report.failures))
    if (!bases.has(failure.ticker) && !failures.has(failure.ticker)) failures.set(failure.ticker, failure);
  return {
    tickers,
    failures: [...failures.values()].sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
    warnings: [...outcomes[0]!.warnings, ...choiceWarnings(reports, result)],
    choice: result,
  };
}

function joinTestedRows(parts: readonly HeldOutPart[], fitted: CombinedTicker["fitted"]) {
  // A single part is not copied: a job may have 100 candidates.
  const values = (of: readonly Float64Array[]) => (of.length === 1 ? of[0]! : concatenate(of));
  const days = (of: readonly Int32Array[]) =>
    of.length === 1 ? of[0]! : Int32Array.from(of.flatMap((part) => [...part]));
  return {
    days: days(parts.map((part) => part.days)),
    labelDays: days(parts.map((part) => part.labelDays)),
    realised: values(parts.map((part) => part.realised)),
    predicted: fitted.map((own) => values(parts.map((part, p) => alignTo(part.days, own?.tested[p])))),
  };
}

function joinMembers(
  { base, fitted, tested, warmUpFolds, warmUpRows }: CombinedTicker,
  chosen: PrequentialChoice,
  predicted: Float64Array,
): MemberForecasts {
  const { score } = base.fits;
  const last = base.fits.tested.at(-1)!;
  const aligned = fitted.map((own) => alignTo(score.days, own?.score));
  const scored = new Float64Array(score.days.length);
  memberMeans(aligned, chosen.members, scored);
  const published = last.days.length - (tested.days.length - warmUpRows);
  const days = last.days.subarray(published);
  return {
    heldOut: {
      ...last,
      days,
      labelDays: last.labelDays.subarray(published),
      predicted: predicted.subarray(warmUpRows),
      realised: last.realised.subarray(published),
      trainingMean: last.trainingMean.subarray(published),
      spans: memberLevels(
        days,
        tested.predicted.map((own) => own.subarray(warmUpRows)),
        fitted.map((own) => own?.tested.at(-1)?.spans ?? []),
        tested.folds.slice(warmUpFolds).map(({ from, to, first }) => ({
          ...{ from: from - warmUpRows, to: to - warmUpRows },
          members: membersAt(chosen, first),
        })),
      ),
    },
    score: {
      ...score,
      predicted: scored,
      spans: memberLevels(
        score.days,
        aligned,
        fitted.map((own) => own?.score.spans ?? []),
        [{ from: 0, to: scored.length, members: chosen.members }],
      ),
    },
  };
}

/** Forecasts on these dates; NaN where there is none. Without a copy if the dates are the same array. @param days ascending. */
function alignTo(days: Int32Array, own: DatedPredictions | undefined): Float64Array {
  if (own?.days === days) return own.predicted;
  const aligned = new Float64Array(days.length).fill(Number.NaN);
  if (own === undefined) return aligned;
  let at = 0;
  for (const [row, day] of days.entries()) {
    while (at < own.days.length && own.days[at]! < day) at++;
    if (own.days[at] === day) aligned[row] = own.predicted[at]!;
  }
  return aligned;
}
