import type { Choice } from "../../contract/config/candidates.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { OutputChoice } from "../../contract/output/choice.ts";
import {
  type LossSeries,
  lossSeries,
  squaredExcess,
  type TestedTicker,
} from "../../evaluate/choice/candidate-losses.ts";
import { chosenMembers, difference, type Members } from "../../evaluate/choice/members.ts";
import type { PrequentialChoice } from "../../evaluate/choice/prequential.ts";
import { MIN_DATES } from "../../evaluate/newey-west.ts";
import { finiteOrNull } from "../../evaluate/statistics.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** A ticker that at least one candidate could fit. */
export interface ChoiceTicker {
  /** One per candidate; undefined if it failed on the ticker. */
  readonly fitted: readonly (object | undefined)[];
  readonly tested: TestedTicker;
  /** The number of folds before those that are published, which only serve the choice, and of their rows. */
  readonly warmUpFolds: number;
  readonly warmUpRows: number;
}

/** The `choice` of either job. */
export type JobChoice = Choice<unknown> & {
  /** run_ml_job: the number of folds that only serve the choice. */
  readonly warmUp?: number;
};

/** What forecasts are worth on the published out-of-fold rows, beside those of candidate 0. */
export interface Gain {
  readonly r2: number | null;
  readonly gain: number | null;
  readonly t: number | null;
  /** The number of label dates on which candidate 0 has forecasts too; fewer than MIN_DATES give neither gain nor t. */
  readonly dates: number;
}

/** What a choice found. */
export interface ChoiceResult {
  readonly choice: JobChoice;
  readonly chosen: PrequentialChoice;
  /** One per candidate, of its own forecasts. */
  readonly gains: readonly Gain[];
  /** The gain of the published forecasts, each chosen before its label was known. */
  readonly honest: Gain;
  /** The terms of that gain, by label date. */
  readonly gainByDay: ReadonlyMap<Day, number>;
  /** The candidate with the smallest mean loss, over all rows that folds test. */
  readonly best: number;
  readonly tickers: readonly ChoiceTicker[];
}

/** Judges the candidates and the choice on the published rows. */
export function* choiceResult(
  tickers: readonly ChoiceTicker[],
  chosen: PrequentialChoice,
  choice: JobChoice,
): Pausable<ChoiceResult> {
  const count = choice.candidates.length;
  const published = tickers.map(({ tested, warmUpRows }, i) =>
    rowsFrom(warmUpRows, { ...tested, predicted: [...tested.predicted, chosen.predicted[i]!] }),
  );
  // Candidate 0 is the reference, so that each date compares it with the others on the same tickers.
  const { excess, days } = yield* lossSeries(published, count + 1, 0);
  const gains = excess.map((own, c) => gainOf(own, excess[0]!, r2Of(published, c)));
  const { best } = chosenMembers(chosen.series, chosen.series.days.length, choice.rule);
  const gainByDay = new Map(Array.from(days, (day, d) => [day, excess[0]![d]! - excess[count]![d]!]));
  return { choice, chosen, gains: gains.slice(0, count), honest: gains[count]!, gainByDay, best, tickers };
}

function rowsFrom(from: number, tested: TestedTicker): TestedTicker {
  return {
    ...tested,
    days: tested.days.subarray(from),
    labelDays: tested.labelDays.subarray(from),
    realised: tested.realised.subarray(from),
    predicted: tested.predicted.map((own) => own.subarray(from)),
  };
}

function gainOf(own: Float64Array, first: Float64Array, r2: number | null): Gain {
  const { mean, error, dates } = difference(first, own, own.length);
  if (dates < MIN_DATES) return { r2, gain: null, t: null, dates };
  return { r2, gain: mean, t: error > 0 ? mean / error : null, dates };
}

/** 1 - sum (y - p)² / sum y², in the tickers' units, over the rows that a candidate forecasts. */
function r2Of(tickers: readonly TestedTicker[], candidate: number): number | null {
  let [saved, squares] = [0, 0];
  for (const { realised, predicted, unit } of tickers) {
    if (!(unit > 0)) continue;
    for (const [i, p] of predicted[candidate]!.entries()) {
      if (Number.isNaN(p)) continue;
      saved -= squaredExcess(realised[i]!, p, 0) / unit;
      squares += realised[i]! ** 2 / unit;
    }
  }
  return finiteOrNull(saved / squares);
}

/** The member `choice` of an output. @param settings one per candidate, as an output records them. */
export function choiceOf(
  { choice, chosen, gains, honest, gainByDay, best, tickers }: ChoiceResult,
  settings: readonly OrderedJson[],
): OrderedJson {
  const { series, members } = chosen;
  const bestR2 = gains[best]!.r2;
  return {
    rule: choice.rule,
    over: choice.over,
    seed: choice.seed,
    ...(choice.warmUp === undefined ? {} : { warm_up: choice.warmUp }),
    candidates: choice.candidates.map((candidate, c) => ({
      label: candidate.label,
      ...recordedGain(gains[c]!),
      tickers: tickers.filter(({ fitted }) => fitted[c] !== undefined).length,
      member: members.includes(c),
      settings: settings[c]!,
    })),
    members: [...members],
    ...(chosen.isPerTicker ? { by_ticker: byTicker(tickers, chosen.tickerMembers) } : {}),
    changes: chosen.changes.map(({ day, members: own }) => ({ date: formatDay(day), members: [...own] })),
    honest: recordedGain(honest),
    best,
    optimism: bestR2 === null || honest.r2 === null ? null : bestR2 - honest.r2,
    losses: lossesOf(series, gainByDay),
  } satisfies Record<Exclude<keyof OutputChoice, "by_ticker" | "warm_up">, OrderedJson>;
}

/** The losses that the choice was made from and the gains on the published rows; networks have them on different dates. */
function lossesOf({ days, reference, excess }: LossSeries, gainByDay: ReadonlyMap<Day, number>): OrderedJson {
  const positions = new Map(Array.from(days, (day, d) => [day, d]));
  const all = [...new Set([...days, ...gainByDay.keys()])].sort((a, b) => a - b);
  return {
    reference,
    dates: all.map(formatDay),
    excess: excess.map((own) => all.map((day) => finiteOrNull(own[positions.get(day) ?? -1] ?? Number.NaN))),
    gains: all.map((day) => finiteOrNull(gainByDay.get(day) ?? Number.NaN)),
  } satisfies Record<keyof OutputChoice["losses"], OrderedJson>;
}

function recordedGain({ r2, gain, t }: Gain) {
  return { r2, gain, gain_t: t };
}

function byTicker(tickers: readonly ChoiceTicker[], members: readonly Members[]): OrderedJson {
  return new Map(tickers.map(({ tested }, i) => [tested.ticker, () => [...members[i]!]]));
}
