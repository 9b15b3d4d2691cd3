/** Chooses among candidates, and combines their forecasts into one per row. */
import type { Candidate, Choice } from "../../contract/config/candidates.ts";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { MlCandidates, MlSettings } from "../../contract/config/ml-settings.ts";
import type { Day } from "../../contract/market/dates.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { sliceTested, type TestedFold, type TestedTicker } from "../../evaluate/choice/candidate-losses.ts";
import {
  choosePrequentially,
  memberLevels,
  memberMeans,
  membersAt,
  type PrequentialChoice,
} from "../../evaluate/choice/prequential.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import { fewerFolds } from "../../panel/folds.ts";
import type { FirstOutcome, FitOutcome } from "../plan.ts";
import {
  type ChoiceResult,
  type ChoiceTicker,
  choiceResult,
  choiceWarnings,
  type JobChoice,
} from "./choice-result.ts";
import type { Listed } from "./job-warnings.ts";
import { type HeldOutPart, judgedBy, type ModelledTicker, type ScoreRows } from "./modelled-ticker.ts";

/** On the dates of the ticker's first candidate: NaN where there is no forecast. */
type AlignedForecasts = Pick<ScoreRows, "predicted" | "spans">;

interface CandidateForecasts extends Pick<ModelledTicker, "spread" | "warnings" | "listed"> {
  readonly tested: readonly AlignedForecasts[];
  readonly score: AlignedForecasts;
  /** The date of its own last score row. */
  readonly lastDay: Day | undefined;
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
    const forecasts = new Map<string, CandidateForecasts>();
    for (const fits of fitted) {
      const { ticker, score, tested, spread, warnings, listed } = fits;
      const base = this.bases.get(ticker) ?? { candidate: number, fits };
      this.bases.set(ticker, base);
      forecasts.set(ticker, {
        tested: tested.map((part, i) => alignTo(base.fits.tested[i]!.days, part)),
        score: alignTo(base.fits.score.days, score),
        lastDay: score.days.at(-1),
        ...(spread === undefined ? {} : { spread }),
        ...{ warnings, listed },
      });
    }
    this.outcomes.push({ candidate, failures, warnings, forecasts });
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

/** @param days ascending. */
function alignTo(days: Int32Array, own: Pick<ScoreRows, "days" | "predicted" | "spans">): AlignedForecasts {
  let at = 0;
  const predicted = Float64Array.from(days, (day) => {
    while (at < own.days.length && own.days[at]! < day) at++;
    return own.days[at] === day ? own.predicted[at]! : Number.NaN;
  });
  return { predicted, spans: own.spans };
}

/** The forecasts of a candidate that could not fit the ticker. */
function noForecasts({ length }: Int32Array): Float64Array {
  return new Float64Array(length).fill(Number.NaN);
}

/** Names the candidate, except the config itself. */
export function nameCandidate(message: string, c: number, label: string): string {
  return c === 0 ? message : `candidate ${c} (${label}): ${message}`;
}

export function combineRegressors(
  fits: CandidateFits<MlSettings>,
  first: FirstOutcome,
  choice: MlCandidates,
): FitOutcome & { readonly choice: ChoiceResult } {
  const { n_splits: asked, cv_test_size: testSize, fit, shrinkage } = choice.candidates[0]!.settings;
  const foldsOf = ({ folds = [], heldOut }: ModelledTicker): TestedFolds => {
    let to = 0;
    const rows = folds.map(({ testStart, testEnd }) => {
      const from = to;
      to += testEnd - testStart;
      return { from, to, first: heldOut.days[from]! };
    });
    return { folds: rows, warmUpFolds: Math.max(0, folds.length - asked) };
  };
  const choose = (tested: readonly TestedTicker[]) =>
    choosePrequentially(tested, fits.outcomes.length, choice);
  const combined = combineCandidates(fits, choice, foldsOf, choose, (tested, forecasts, { members }) => {
    const { base, fitted, warmUpFolds } = tested;
    const { importances, lastImportances, ...own } = base.fits;
    const { ticker, joins, rows } = own;
    const { heldOut, score } = forecasts;
    const folds = own.folds!.slice(warmUpFolds);
    const isAlone = members.length === 1 && members[0] === base.candidate;
    const facts = { ticker, fitRows: rows.fitRows, testSize, asked, got: folds.length, fit };
    // `late_ticker` reports those of late tickers.
    const fewer = joins === undefined ? fewerFolds({ ...facts, shrinks: shrinkage === "own" }) : undefined;
    // The listing of a candidate without a scaler, if the first has one.
    const isUnscaled = ({ code }: Listed) => code === "unscaled_features";
    const unscaled = own.listed.some(isUnscaled)
      ? []
      : fitted.flatMap((other) => other?.listed.filter(isUnscaled) ?? []).slice(0, 1);
    return {
      ...own,
      ...{ folds, heldOut, residuals: heldOut, tested: [heldOut], score },
      warnings: [...own.warnings.filter(({ code }) => code !== "fewer_folds"), ...(fewer ? [fewer] : [])],
      listed: [...own.listed, ...unscaled],
      ...(isAlone && importances ? { importances } : {}),
      ...(isAlone && lastImportances ? { lastImportances } : {}),
    };
  });
  return { ...first, ...combined };
}

/** Chooses by the losses of the validation part; the calibration part, which those forecast too, only judges. */
export function combineNetworks(
  fits: CandidateFits<DlSettings>,
  first: FirstOutcome,
  choice: Choice<DlSettings>,
): FitOutcome & { readonly choice: ChoiceResult } {
  const foldsOf = ({ tested }: ModelledTicker): TestedFolds => {
    let to = 0;
    const folds = tested.map(({ days }) => {
      const from = to;
      to += days.length;
      return { from, to, first: days[0] ?? 0 };
    });
    return {
      folds: folds.filter(({ from, to }) => from < to),
      warmUpFolds: Math.min(1, tested[0]!.days.length),
    };
  };
  /** By the losses of validation rows. @param validated the number of these rows, by ticker. */
  const choose = (tested: readonly TestedTicker[], validated: readonly number[]) => {
    const validation = tested.map((ticker, i) => sliceTested(ticker, 0, validated[i]!));
    return choosePrequentially(tested, fits.outcomes.length, choice, validation);
  };
  const combined = combineCandidates(
    fits,
    choice,
    foldsOf,
    choose,
    (ticker, { heldOut, score }, { members }) => {
      const { spread: _, ...own } = ticker.base.fits;
      const spread = spreadOf(ticker, members);
      const judged = judgedBy(own.tested[0]!, heldOut);
      return { ...own, ...judged, score, ...(spread === undefined ? {} : { spread }) };
    },
  );
  return { training: new Map(), blockTraining: new Map(), ...first, ...combined };
}

/** The deviation of the members' forecasts of the last score row; that of its own ensemble if one candidate alone forecasts it. */
function spreadOf(
  { base, fitted }: CombinedTicker,
  members: PrequentialChoice["members"],
): number | undefined {
  const last = base.fits.score.days.at(-1);
  const lastOf = (c: number) =>
    fitted[c]?.lastDay === last ? (fitted[c]?.score.predicted.at(-1) ?? Number.NaN) : Number.NaN;
  const used = members.filter((c) => Number.isFinite(lastOf(c)));
  if (used.length >= 2) return sampleDeviation(Float64Array.from(used, lastOf));
  return fitted[used[0] ?? fitted.findIndex((_, c) => Number.isFinite(lastOf(c)))]?.spread;
}

interface CombinedTicker extends ChoiceTicker {
  readonly base: { readonly candidate: number; readonly fits: ModelledTicker };
  readonly fitted: readonly (CandidateForecasts | undefined)[];
}

interface TestedFolds {
  readonly folds: readonly TestedFold[];
  /** The number of folds before those that are published. */
  readonly warmUpFolds: number;
}

/** @param combine a ticker with the forecasts of its members; the rest is that of the first candidate that could fit it. */
function combineCandidates<S>(
  fits: CandidateFits<S>,
  choice: JobChoice,
  foldsOf: (fits: ModelledTicker) => TestedFolds,
  choose: (tickers: readonly TestedTicker[], warmUpRows: readonly number[]) => PrequentialChoice,
  combine: (
    ticker: CombinedTicker,
    forecasts: ReturnType<typeof joinMembers>,
    chosen: PrequentialChoice,
  ) => ModelledTicker,
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
    predicted: fitted.map((own) =>
      values(parts.map((part, p) => own?.tested[p]?.predicted ?? noForecasts(part.days))),
    ),
  };
}

function joinMembers(
  { base, fitted, tested, warmUpFolds, warmUpRows }: CombinedTicker,
  chosen: PrequentialChoice,
  predicted: Float64Array,
) {
  const { score } = base.fits;
  const last = base.fits.tested.at(-1)!;
  const aligned = fitted.map((own) => own?.score.predicted ?? noForecasts(score.days));
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
