import type { Choice } from "../../contract/config/ml-candidates.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { countKnown } from "../../evaluate/choice/candidate-losses.ts";
import type { PrequentialChoice } from "../../evaluate/choice/prequential.ts";
import { MIN_DATES, neweyWestQuantile } from "../../evaluate/newey-west.ts";
import type { ChoiceResult } from "./choice-result.ts";
import { type CandidateTicker, publishedFolds } from "./combine-candidates.ts";
import type { CandidateOutcome } from "./fit-candidates.ts";

/** The warnings of a choice: of candidates that failed or did not learn, and of the choice itself. */
export function candidateWarnings(
  outcomes: readonly CandidateOutcome[],
  tickers: readonly CandidateTicker[],
  chosen: PrequentialChoice,
  result: ChoiceResult,
  choice: Choice,
): Warning[] {
  return [
    ...outcomes.flatMap((outcome, c) => [
      ...failedWarning(outcome, c, tickers),
      ...modelWarnings(outcome, c),
    ]),
    ...fewRowsWarnings(tickers, chosen, choice),
    ...noiseWarning(result),
  ];
}

/** A candidate's name in messages. */
function nameOf({ candidate: { label } }: CandidateOutcome, c: number): string {
  return `Candidate ${c} (${label})`;
}

function failedWarning(outcome: CandidateOutcome, c: number, tickers: readonly CandidateTicker[]): Warning[] {
  const lacking = new Set(
    tickers.filter(({ fitted }) => fitted[c] === undefined).map(({ tested }) => tested.ticker),
  );
  const failed = outcome.outcome.failures.filter(({ ticker }) => lacking.has(ticker));
  const [first] = failed;
  if (first === undefined) return [];
  const message = `${nameOf(outcome, c)} failed for ${counted(failed.length, "ticker")} and counts only for the others. The first, ${first.ticker}: ${first.message}`;
  return [{ code: "candidate_failed", count: failed.length, message }];
}

/** Warnings about a model itself, which candidate 0 gives by ticker. */
const MODEL_CODES: ReadonlySet<string> = new Set<Warning["code"]>([
  "not_converged",
  "constant_predictions",
  "failed_refit",
]);

/** One warning of each kind for a candidate after the first, with the number of tickers. */
function modelWarnings(outcome: CandidateOutcome, c: number): Warning[] {
  if (c === 0) return [];
  const { fitted, warnings } = outcome.outcome;
  const own = [...fitted.flatMap((ticker) => ticker.warnings), ...warnings];
  const byCode = Map.groupBy(
    own.filter(({ code }) => MODEL_CODES.has(code)),
    ({ code }) => code,
  );
  return [...byCode].map(([code, found]) => ({
    code,
    count: found.length,
    message: `${nameOf(outcome, c)}, ${counted(found.length, "warning")}. The first: ${found[0]!.message}`,
  }));
}

function fewRowsWarnings(
  tickers: readonly CandidateTicker[],
  { series }: PrequentialChoice,
  choice: Choice,
): Warning[] {
  const warnings: Warning[] = [];
  const folded = tickers.filter(({ tested }) => tested.folds.length > 0);
  const short = folded.filter(({ warmUpFolds }) => warmUpFolds < choice.warmUp);
  if (short.length > 0) {
    const most = short.reduce((least, { warmUpFolds }) => Math.min(least, warmUpFolds), choice.warmUp);
    const message = `${counted(short.length, "ticker")} ${short.length === 1 ? "has" : "have"} too few fit rows for ${choice.warmUp} warm-up folds before the ${publishedFolds(choice)} folds of n_splits; the shortest gets ${most}.`;
    warnings.push({ code: "few_choice_rows", count: short.length, message });
  }
  const early = folded.flatMap(({ tested, warmUpFolds }) =>
    tested.folds.slice(warmUpFolds).filter(({ first }) => countKnown(series.days, first) < MIN_DATES),
  );
  if (early.length > 0) {
    const message = `Candidate 0 alone forecasts ${counted(early.length, "fold")}, because fewer than ${MIN_DATES} label dates were known when ${early.length === 1 ? "it" : "they"} began.`;
    warnings.push({ code: "few_choice_rows", count: early.length, message });
  }
  return warnings;
}

function noiseWarning({ honest, gains, best, choice }: ChoiceResult): Warning[] {
  const { t, dates, r2 } = honest;
  if (dates < MIN_DATES) return [];
  const quantile = neweyWestQuantile(dates);
  if (t !== null && t > quantile) return [];
  const claim = `candidate ${best} (${choice.candidates[best]!.label}) has an R² of ${percent(gains[best]!.r2)} on its own out-of-fold rows, and the forecasts chosen beforehand have ${percent(r2)}`;
  const found =
    t === null
      ? "never differed from candidate 0"
      : `has a t of ${t.toFixed(2)}, and ${quantile.toFixed(2)} is needed`;
  return [
    {
      code: "choice_is_noise",
      message: `The gain from choosing ${found} over ${counted(dates, "date")}: ${claim}.`,
    },
  ];
}

function percent(value: number | null): string {
  return value === null ? "none" : `${(100 * value).toFixed(2)} %`;
}
