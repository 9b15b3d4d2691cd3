import type { Candidate } from "../../../contract/config/choice/candidates.ts";
import { compareCodePoints } from "../../../contract/market/ticker-series.ts";
import type { Failure } from "../../../contract/problems/problem.ts";
import type { Warning } from "../../../contract/problems/warnings.ts";
import type { TestedFold, TestedTicker } from "../../../evaluate/choice/candidate-losses.ts";
import { memberLevels, memberMeans, membersAt } from "../../../evaluate/choice/member-forecasts.ts";
import type { PrequentialChoice } from "../../../evaluate/choice/prequential.ts";
import { concatenate } from "../../../evaluate/forecast-rows.ts";
import type { Levels } from "../../../evaluate/levels.ts";
import type { Listed } from "../listed-warnings.ts";
import type { HeldOutPart, ScoreRows } from "../modelled-ticker.ts";
import { type ChoiceResult, type ChoiceTicker, choiceResult, type JobChoice } from "./choice-result.ts";
import { choiceWarnings, commonFailures } from "./choice-warnings.ts";
import { lostTickers } from "./lost-tickers.ts";

/** Forecasts by date, and what they start from. */
interface DatedPredictions {
  /** Shape (n), ascending. */
  readonly days: Int32Array;
  /** Shape (n). */
  readonly predicted: Float64Array;
  readonly spans: Levels;
}

/** What the choice needs of a candidate's models of one ticker. */
export interface CandidateForecasts {
  /** The rows that test it, in parts: out of fold, or a network's validation and calibration part. */
  readonly tested: readonly DatedPredictions[];
  readonly score: DatedPredictions;
  /** Of its own ensemble. */
  readonly spread?: number;
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
}

/** A ticker as a candidate has fitted it. */
interface CandidateTicker {
  readonly ticker: string;
  readonly score: ScoreRows;
  readonly spread?: number;
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
}

/** The finished fits of one candidate. */
export interface CandidateOutcome<S> {
  readonly candidate: Candidate<S>;
  readonly failures: readonly Failure[];
  /** Of the models of all tickers. */
  readonly warnings: readonly Warning[];
  readonly forecasts: ReadonlyMap<string, CandidateForecasts>;
}

/** The fits of a ticker by the first candidate that could fit it, whose rows and folds are the ticker's. */
export interface BaseFits<T> {
  readonly candidate: number;
  readonly fits: T;
}

/** The fits of all candidates, of which only the forecasts and the first fits of each ticker are kept: the rest would take gigabytes. */
export class CandidateFits<S, T extends CandidateTicker> {
  readonly outcomes: CandidateOutcome<S>[] = [];
  readonly bases = new Map<string, BaseFits<T>>();
  readonly partsOf: (fits: T) => readonly HeldOutPart[];

  /** @param partsOf the rows of a ticker that test its candidates. */
  constructor(partsOf: (fits: T) => readonly HeldOutPart[]) {
    this.partsOf = partsOf;
  }

  add(
    candidate: Candidate<S>,
    fitted: readonly T[],
    { failures, warnings }: Pick<CandidateOutcome<S>, "failures" | "warnings">,
  ): void {
    const number = this.outcomes.length;
    for (const fits of fitted)
      if (!this.bases.has(fits.ticker)) this.bases.set(fits.ticker, { candidate: number, fits });
    const forecasts = new Map(fitted.map((own) => [own.ticker, this.#forecastsOf(own)]));
    this.outcomes.push({ candidate, failures, warnings, forecasts });
  }

  /** Dates that equal those of the ticker's first candidate are kept once, because a job may have 100. */
  #forecastsOf(own: T): CandidateForecasts {
    const base = this.bases.get(own.ticker)!.fits;
    const kept = ({ days, predicted, spans }: DatedPredictions, other: DatedPredictions) => {
      const isEqual = other.days.length === days.length && days.every((day, i) => day === other.days[i]);
      return { days: isEqual ? other.days : days, predicted, spans };
    };
    const others = this.partsOf(base);
    return {
      tested: this.partsOf(own).map((part, i) => kept(part, others[i]!)),
      score: kept(own.score, base.score),
      ...(own.spread === undefined ? {} : { spread: own.spread }),
      warnings: own.warnings,
      listed: own.listed,
    };
  }
}

/** A ticker that at least one candidate could fit. */
export interface CombinedTicker<T> extends ChoiceTicker {
  readonly base: BaseFits<T>;
  readonly fitted: readonly (CandidateForecasts | undefined)[];
}

/** The forecasts of the members of a ticker, for its published held-out rows and its score rows. */
export interface MemberForecasts {
  readonly heldOut: HeldOutPart;
  readonly score: ScoreRows;
}

/** What the folds of a ticker are to the choice. */
export interface TestedFolds {
  readonly folds: readonly TestedFold[];
  /** The number of folds before those that are published. */
  readonly warmUpFolds: number;
  /** As in `TestedTicker`. */
  readonly unit: number;
}

/**
 * Chooses among candidates and combines their forecasts into one per row. Everything else about a ticker is that of the first candidate
 * that could fit it.
 * @param foldsOf the folds among the rows of `partsOf`, joined. @param combine the ticker with the forecasts of its members.
 */
export function combineCandidates<S, T extends CandidateTicker>(
  { outcomes, bases, partsOf }: CandidateFits<S, T>,
  choice: JobChoice,
  foldsOf: (fits: T) => TestedFolds,
  choose: (tickers: readonly TestedTicker[], warmUpRows: readonly number[]) => PrequentialChoice,
  combine: (ticker: CombinedTicker<T>, forecasts: MemberForecasts, chosen: PrequentialChoice) => T,
): {
  readonly tickers: T[];
  readonly failures: Failure[];
  readonly warnings: Warning[];
  readonly choice: ChoiceResult;
} {
  const lost = lostTickers(outcomes);
  const names = [...bases.keys()].filter((ticker) => !lost.has(ticker)).sort(compareCodePoints);
  const tickers = names.map((name): CombinedTicker<T> => {
    const base = bases.get(name)!;
    const fitted = outcomes.map(({ forecasts }) => forecasts.get(name));
    const { folds, warmUpFolds, unit } = foldsOf(base.fits);
    return {
      base,
      fitted,
      warmUpFolds,
      warmUpRows: folds[warmUpFolds]?.from ?? folds.at(-1)?.to ?? 0,
      tested: { ticker: name, ...testedRows(partsOf(base.fits), fitted), unit, folds },
    };
  });
  const chosen = choose(
    tickers.map(({ tested }) => tested),
    tickers.map(({ warmUpRows }) => warmUpRows),
  );
  const fitted = tickers.map((ticker, i) =>
    combine(ticker, memberForecasts(ticker, chosen, i, partsOf), chosen),
  );
  const result = choiceResult(tickers, chosen, choice);
  const reports = outcomes.map(({ failures, warnings, forecasts }) => ({
    failures,
    warnings: [...[...forecasts.values()].flatMap((own) => own.warnings), ...warnings],
  }));
  return {
    tickers: fitted,
    failures: commonFailures([{ failures: [...lost.values()] }, ...reports], fitted),
    warnings: [...outcomes[0]!.warnings, ...choiceWarnings(reports, result)],
    choice: result,
  };
}

function testedRows(parts: readonly HeldOutPart[], fitted: CombinedTicker<unknown>["fitted"]) {
  // A single part is not copied: a job may have 100 candidates.
  const values = (of: readonly Float64Array[]) => (of.length === 1 ? of[0]! : concatenate(of));
  const days = (of: readonly Int32Array[]) =>
    of.length === 1 ? of[0]! : Int32Array.from(of.flatMap((part) => [...part]));
  return {
    days: days(parts.map((part) => part.days)),
    labelDays: days(parts.map((part) => part.labelDays)),
    realised: values(parts.map((part) => part.realised)),
    predicted: fitted.map((own) => values(parts.map((part, p) => alignedTo(part.days, own?.tested[p])))),
  };
}

function memberForecasts<T extends CandidateTicker>(
  { base: { fits }, fitted, tested, warmUpFolds, warmUpRows }: CombinedTicker<T>,
  chosen: PrequentialChoice,
  index: number,
  partsOf: (fits: T) => readonly HeldOutPart[],
): MemberForecasts {
  const { score } = fits;
  const aligned = fitted.map((own) => alignedTo(score.days, own?.score));
  const predicted = new Float64Array(score.days.length);
  memberMeans(aligned, chosen.members, predicted);
  const last = partsOf(fits).at(-1)!;
  const published = last.days.length - (tested.days.length - warmUpRows);
  const days = last.days.subarray(published);
  return {
    heldOut: {
      ...last,
      days,
      labelDays: last.labelDays.subarray(published),
      predicted: chosen.predicted[index]!.subarray(warmUpRows),
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
      predicted,
      spans: memberLevels(
        score.days,
        aligned,
        fitted.map((own) => own?.score.spans ?? []),
        [{ from: 0, to: predicted.length, members: chosen.members }],
      ),
    },
  };
}

/** Forecasts on these dates; NaN where there is none. Without a copy if the dates are the same array. @param days ascending. */
function alignedTo(days: Int32Array, own: DatedPredictions | undefined): Float64Array {
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
