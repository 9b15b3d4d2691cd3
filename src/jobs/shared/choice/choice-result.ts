import type { Choice } from "../../../contract/config/choice/candidates.ts";
import { type Day, formatDay } from "../../../contract/market/dates.ts";
import { CHOICE_METHOD } from "../../../contract/output/choice.ts";
import type { TestedTicker } from "../../../evaluate/choice/candidate-losses.ts";
import {
  type ChoiceGains,
  choiceGains,
  type Gain,
  optimismOf,
} from "../../../evaluate/choice/choice-gains.ts";
import type { PrequentialChoice } from "../../../evaluate/choice/prequential.ts";
import { finiteOrNull } from "../../../evaluate/statistics.ts";
import type { OrderedJson } from "../ordered-json.ts";

/** A ticker that at least one candidate could fit. */
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

export interface ChoiceResult extends ChoiceGains {
  readonly choice: JobChoice;
  readonly chosen: PrequentialChoice;
  /** The candidate with the smallest mean loss, over all rows that folds test. */
  readonly best: number;
  readonly tickers: readonly ChoiceTicker[];
}

export function choiceResult(
  tickers: readonly ChoiceTicker[],
  chosen: PrequentialChoice,
  choice: JobChoice,
): ChoiceResult {
  const tested = tickers.map((ticker) => ticker.tested);
  const from = tickers.map(({ warmUpRows }) => warmUpRows);
  const gains = choiceGains(tested, chosen.predicted, from, choice.candidates.length, choice.measure);
  return { choice, chosen, ...gains, best: chosen.best, tickers };
}

/** The member `choice` of an output. @param settings one per candidate, as an output records them. */
export function choiceOf(
  { choice, chosen, gains, honest, gainByDay, best, tickers }: ChoiceResult,
  settings: readonly OrderedJson[],
): OrderedJson {
  const { series, members } = chosen;
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
