import type { ChoiceMeasure } from "../../../contract/config/choice/choice-config.ts";
import { counted } from "../../../contract/errors/wording.ts";
import { MIN_DATES, meanQuantile } from "../../../contract/output/test-quantile.ts";
import type { Failure } from "../../../contract/problems/problem.ts";
import type { Warning } from "../../../contract/problems/warnings.ts";
import { countKnown, type LossSeries, MIN_IC_TICKERS } from "../../../evaluate/choice/candidate-losses.ts";
import { figureOf, type Gain } from "../../../evaluate/choice/choice-gains.ts";
import type { ChoiceResult, ChoiceTicker } from "./choice-result.ts";

/** What the fits of one candidate reported: the failures and warnings of its tickers and of the fit itself. */
interface CandidateReport {
  readonly failures: readonly Failure[];
  readonly warnings: readonly Warning[];
}

/** The warnings of a choice: of candidates that failed or did not learn, and of the choice itself. @param reports one per candidate. */
export function choiceWarnings(reports: readonly CandidateReport[], result: ChoiceResult): Warning[] {
  const { tickers, chosen, choice } = result;
  const folded = tickers.filter(({ tested }) => tested.folds.length > 0);
  return [
    ...reports.flatMap((report, c) => [
      ...failedWarning(report, c, result),
      ...modelWarnings(report, c, result),
    ]),
    ...shortWarmUp(folded, choice.warm_up ?? 0),
    ...earlyFolds(folded, chosen.series, choice.measure),
    ...noiseWarning(result),
  ];
}

function nameOf(c: number, { choice }: ChoiceResult): string {
  return `Candidate ${c} (${choice.candidates[c]!.label})`;
}

function failedWarning({ failures }: CandidateReport, c: number, result: ChoiceResult): Warning[] {
  const lacking = result.tickers.filter(({ fitted }) => fitted[c] === undefined);
  const names = new Set(lacking.map(({ tested }) => tested.ticker));
  const failed = failures.filter(({ ticker }) => names.has(ticker));
  const [first] = failed;
  if (first === undefined) return [];
  const message = `${nameOf(c, result)} failed for ${counted(failed.length, "ticker")} and counts only for the others. The first, ${first.ticker}: ${first.message}`;
  return [{ code: "candidate_failed", count: failed.length, message }];
}

/** Warnings about a model itself, which candidate 0 gives by ticker. */
const MODEL_CODES: ReadonlySet<string> = new Set<Warning["code"]>([
  "not_converged",
  "constant_predictions",
  "failed_refit",
]);

/** One warning of each kind for a candidate after the first, with the number of tickers. */
function modelWarnings({ warnings }: CandidateReport, c: number, result: ChoiceResult): Warning[] {
  if (c === 0) return [];
  const byCode = Map.groupBy(
    warnings.filter(({ code }) => MODEL_CODES.has(code)),
    ({ code }) => code,
  );
  return [...byCode].map(([code, found]) => ({
    code,
    count: found.length,
    message: `${nameOf(c, result)}, ${counted(found.length, "warning")}. The first: ${found[0]!.message}`,
  }));
}

function shortWarmUp(folded: readonly ChoiceTicker[], warmUp: number): Warning[] {
  const short = folded.filter(({ warmUpFolds }) => warmUpFolds < warmUp);
  if (short.length === 0) return [];
  const fewest = short.reduce((least, { warmUpFolds }) => Math.min(least, warmUpFolds), warmUp);
  const message = `${counted(short.length, "ticker")} ${short.length === 1 ? "has" : "have"} too few fit rows for ${counted(warmUp, "warm-up fold")} before the folds of n_splits; the fewest are ${fewest}.`;
  return [{ code: "few_choice_rows", count: short.length, message }];
}

/** Published folds that begin before the losses suffice for a choice. */
function earlyFolds(
  folded: readonly ChoiceTicker[],
  { days: all, excess, reference }: LossSeries,
  measure: ChoiceMeasure,
): Warning[] {
  const days = measure === "ic" ? all.filter((_, d) => !Number.isNaN(excess[reference]![d]!)) : all;
  const which = measure === "ic" ? `label dates with at least ${MIN_IC_TICKERS} tickers` : "label dates";
  const early = folded.flatMap(({ fitted, tested, warmUpFolds }) => {
    const own = tested.folds.slice(warmUpFolds).filter(({ first }) => countKnown(days, first) < MIN_DATES);
    return own.map(() => fitted.findIndex((one) => one !== undefined));
  });
  if (early.length === 0) return [];
  const alone = early.every((c) => c === early[0])
    ? `Candidate ${early[0]}`
    : "The first candidate that could fit the ticker";
  const message = `${alone} alone forecasts ${counted(early.length, "fold")}, because fewer than ${MIN_DATES} ${which} were known when ${early.length === 1 ? "it" : "they"} began.`;
  return [{ code: "few_choice_rows", count: early.length, message }];
}

function noiseWarning({ honest, gains, best, choice }: ChoiceResult): Warning[] {
  const { t, dates } = honest;
  if (dates < MIN_DATES) return [];
  const quantile = meanQuantile(dates);
  if (t !== null && t > quantile) return [];
  const [what, scale, digits, unit] =
    choice.measure === "ic" ? (["a mean IC", 1, 4, ""] as const) : (["an R²", 100, 2, " %"] as const);
  const text = (gain: Gain) => {
    const value = figureOf(gain, choice.measure);
    return value === null ? "none" : `${(scale * value).toFixed(digits)}${unit}`;
  };
  const { label } = choice.candidates[best]!;
  const claim = `candidate ${best} (${label}) has ${what} of ${text(gains[best]!)} on its own held-out rows, and the forecasts chosen beforehand have ${text(honest)}`;
  const gained =
    t === null
      ? "never differed from candidate 0"
      : `has a t of ${t.toFixed(2)}, and ${quantile.toFixed(2)} is needed`;
  const message = `The gain from choosing ${gained} over ${counted(dates, "date")}: ${claim}.`;
  return [{ code: "choice_is_noise", message }];
}
