import type { Choice } from "../../contract/config/candidates.ts";
import type { ChoiceMeasure } from "../../contract/config/choice-config.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { CHOICE_METHOD } from "../../contract/output/choice.ts";
import { MIN_DATES, meanQuantile } from "../../contract/output/test-quantile.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import {
  countKnown,
  type LossSeries,
  MIN_IC_TICKERS,
  type TestedTicker,
} from "../../evaluate/choice/candidate-losses.ts";
import { choiceGains, figureOf, type Gain, optimismOf } from "../../evaluate/choice/choice-gains.ts";
import type { PrequentialChoice } from "../../evaluate/choice/prequential.ts";
import { finiteOrNull } from "../../evaluate/statistics.ts";
import type { OrderedJson } from "./ordered-json.ts";

export interface ChoiceTicker {
  /** One per candidate; undefined if it failed on the ticker. */
  readonly fitted: readonly (object | undefined)[];
  readonly tested: TestedTicker;
  /** The number of folds before those that are published, which only serve the choice, and of their rows. */
  readonly warmUpFolds: number;
  readonly warmUpRows: number;
}

export type JobChoice = Choice<unknown> & {
  /** run_ml_job: the number of folds that only serve the choice. */
  readonly warm_up?: number;
};

export type ChoiceResult = ReturnType<typeof choiceResult>;

export function choiceResult(tickers: readonly ChoiceTicker[], chosen: PrequentialChoice, choice: JobChoice) {
  const tested = tickers.map((ticker) => ticker.tested);
  const from = tickers.map(({ warmUpRows }) => warmUpRows);
  const gains = choiceGains(tested, chosen.predicted, from, choice.candidates.length, choice.measure);
  return { choice, chosen, ...gains, tickers };
}

/** The member `choice` of an output. @param settings one per candidate, as an output records them. */
export function choiceOf(
  { choice, chosen, gains, honest, gainByDay, tickers }: ChoiceResult,
  settings: readonly OrderedJson[],
): OrderedJson {
  const { series, members, best } = chosen;
  const recordGain = ({ r2, ic, gain, t }: Gain) => ({ r2, ic, gain, gain_t: t });
  // Networks have the losses that the choice was made from and the gains on the published rows on different dates.
  const positions = new Map(Array.from(series.days, (day, d) => [day, d]));
  const days = [...new Set([...series.days, ...gainByDay.keys()])].sort((a, b) => a - b);
  const at = (own: Float64Array, day: Day) => own[positions.get(day) ?? -1] ?? Number.NaN;
  return {
    rule: choice.rule,
    measure: choice.measure,
    method: CHOICE_METHOD,
    seed: choice.seed,
    ...(choice.warm_up === undefined ? {} : { warm_up: choice.warm_up }),
    candidates: choice.candidates.map(({ label }, c) => ({
      label,
      ...recordGain(gains[c]!),
      tickers: tickers.filter(({ fitted }) => fitted[c] !== undefined).length,
      member: members.includes(c),
      settings: settings[c]!,
    })),
    members,
    changes: chosen.changes.map(({ day, members: own }) => ({ date: formatDay(day), members: own })),
    honest: recordGain(honest),
    best,
    optimism: optimismOf(gains[best]!, honest, choice.measure),
    losses: {
      reference: series.reference,
      dates: days.map(formatDay),
      excess: series.excess.map((own) => days.map((day) => finiteOrNull(at(own, day)))),
      gains: days.map((day) => finiteOrNull(gainByDay.get(day) ?? Number.NaN)),
    },
  };
}

interface CandidateReport {
  readonly failures: readonly Failure[];
  readonly warnings: readonly Warning[];
}

/** The warnings of a choice: of candidates that failed or did not learn, and of the choice itself. @param reports one per candidate. */
export function choiceWarnings(reports: readonly CandidateReport[], result: ChoiceResult): Warning[] {
  const { tickers, chosen, choice } = result;
  const folded = tickers.filter(({ tested }) => tested.folds.length > 0);
  return [
    ...reports.flatMap((report, c) => candidateWarnings(report, c, result)),
    ...shortWarmUp(folded, choice.warm_up ?? 0),
    ...earlyFolds(folded, chosen.series, choice.measure),
    ...noiseWarning(result),
  ];
}

const MODEL_CODES: ReadonlySet<string> = new Set<Warning["code"]>([
  "not_converged",
  "constant_predictions",
  "failed_refit",
]);

/** The tickers that a candidate could not fit, and, except for the first candidate, one warning of each kind about its models. */
function candidateWarnings(
  { failures, warnings }: CandidateReport,
  c: number,
  { choice, tickers }: ChoiceResult,
): Warning[] {
  const name = `Candidate ${c} (${choice.candidates[c]!.label})`;
  const lacking = tickers.filter(({ fitted }) => fitted[c] === undefined);
  const names = new Set(lacking.map(({ tested }) => tested.ticker));
  const failed = failures.filter(({ ticker }) => names.has(ticker));
  const found = failed.slice(0, 1).map(
    ({ ticker, message }): Warning => ({
      code: "candidate_failed",
      count: failed.length,
      message: `${name} failed for ${counted(failed.length, "ticker")} and counts only for the others. The first, ${ticker}: ${message}`,
    }),
  );
  const byCode = Map.groupBy(c === 0 ? [] : warnings, ({ code }) => code);
  for (const [code, own] of byCode) {
    if (!MODEL_CODES.has(code)) continue;
    const message = `${name}, ${counted(own.length, "warning")}. The first: ${own[0]!.message}`;
    found.push({ code, count: own.length, message });
  }
  return found;
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

function noiseWarning({ honest, gains, chosen: { best }, choice }: ChoiceResult): Warning[] {
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
