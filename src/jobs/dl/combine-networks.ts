import type { Choice } from "../../contract/config/choice/candidates.ts";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { Day } from "../../contract/market/dates.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { lossSeries, type TestedTicker } from "../../evaluate/choice/candidate-losses.ts";
import {
  foldForecasts,
  memberLevels,
  memberMeans,
  membersAt,
} from "../../evaluate/choice/member-forecasts.ts";
import type { Members } from "../../evaluate/choice/members.ts";
import {
  choicesAt,
  END,
  foldDates,
  membersOverTime,
  type PrequentialChoice,
} from "../../evaluate/choice/prequential.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import { alignedTo } from "../shared/choice/aligned-forecasts.ts";
import { type ChoiceResult, type ChoiceTicker, choiceResult } from "../shared/choice/choice-result.ts";
import { choiceWarnings, commonFailures } from "../shared/choice/choice-warnings.ts";
import { lostTickers } from "../shared/choice/lost-tickers.ts";
import type { HeldOutPart } from "../shared/modelled-ticker.ts";
import type { CandidateForecasts, CandidateNetworks, TrainedCandidates } from "./candidate-networks.ts";
import type { TrainedTicker } from "./planned-network.ts";
import type { TrainOutcome } from "./trained-blocks.ts";

/** A ticker that at least one candidate could train on. Its tested rows are the validation part, then the calibration part. */
interface NetworkTicker extends ChoiceTicker {
  /** What the first of these candidates has, whose rows are the ticker's. */
  readonly base: TrainedTicker;
  readonly fitted: readonly (CandidateForecasts | undefined)[];
}

export type CombinedNetworks = TrainOutcome & { readonly choice: ChoiceResult };

/**
 * Chooses among candidates by the losses of the validation part, and combines their forecasts of the calibration part and of the score rows.
 * The calibration part only judges. Everything else about a ticker is that of the first candidate that could train on it.
 */
export function combineNetworks(
  { outcomes, bases }: TrainedCandidates,
  choice: Choice<DlSettings>,
): CombinedNetworks {
  const lost = lostTickers(outcomes);
  const names = [...bases.keys()].filter((ticker) => !lost.has(ticker)).sort(compareCodePoints);
  const tickers = names.map((name) =>
    networkTicker(
      bases.get(name)!,
      outcomes.map(({ forecasts }) => forecasts.get(name)),
    ),
  );
  const chosen = chooseByValidation(tickers, outcomes.length, choice);
  const trained = tickers.map((ticker, i) => combined(ticker, chosen, i));
  const result = choiceResult(tickers, chosen, choice);
  const [{ outcome }] = outcomes as readonly [CandidateNetworks];
  const reports = outcomes.map(({ outcome: { failures, warnings }, forecasts }) => ({
    failures,
    warnings: [...[...forecasts.values()].flatMap((own) => own.warnings), ...warnings],
  }));
  return {
    ...outcome,
    trained,
    failures: commonFailures([{ failures: [...lost.values()] }, ...reports], trained),
    warnings: [...outcome.warnings, ...choiceWarnings(reports, result)],
    choice: result,
  };
}

function networkTicker(
  base: TrainedTicker,
  fitted: readonly (CandidateForecasts | undefined)[],
): NetworkTicker {
  const { ticker, validation, calibration, labelSquare } = base;
  const days = (key: "days" | "labelDays") => Int32Array.of(...validation[key], ...calibration[key]);
  const validated = validation.days.length;
  return {
    base,
    fitted,
    warmUpFolds: Math.min(1, validated),
    warmUpRows: validated,
    tested: {
      ticker,
      days: days("days"),
      labelDays: days("labelDays"),
      realised: concatenate([validation.realised, calibration.realised]),
      predicted: fitted.map((own) =>
        concatenate([
          alignedTo(validation.days, own?.validation),
          alignedTo(calibration.days, own?.calibration),
        ]),
      ),
      unit: labelSquare,
      folds: [partFold(validation, 0), partFold(calibration, validated)].filter(({ from, to }) => from < to),
    },
  };
}

function partFold({ days }: HeldOutPart, from: number) {
  return { from, to: from + days.length, first: days[0] ?? 0 };
}

/** The members at a date, by the losses of validation rows whose label is known. */
function chooseByValidation(
  tickers: readonly NetworkTicker[],
  candidates: number,
  { rule, measure }: Choice<DlSettings>,
): PrequentialChoice {
  const series = lossSeries(tickers.map(validationRows), candidates, measure);
  const tested = tickers.map((ticker) => ticker.tested);
  const days = foldDates(tested);
  const common = choicesAt([...days, END], series, rule);
  const { members, best } = common.get(END)!;
  return {
    ...{ series, best },
    changes: membersOverTime(days, common),
    members,
    predicted: tested.map((ticker) => foldForecasts(ticker, (first: Day) => common.get(first)!.members)),
  };
}

function validationRows({ tested, warmUpRows }: NetworkTicker): TestedTicker {
  return {
    ...tested,
    days: tested.days.subarray(0, warmUpRows),
    labelDays: tested.labelDays.subarray(0, warmUpRows),
    realised: tested.realised.subarray(0, warmUpRows),
    predicted: tested.predicted.map((own) => own.subarray(0, warmUpRows)),
  };
}

/** A ticker with the forecasts of its members. */
function combined(
  { base, fitted, tested, warmUpRows }: NetworkTicker,
  chosen: PrequentialChoice,
  index: number,
): TrainedTicker {
  const { members } = chosen;
  const { spread: _, ...own } = base;
  const { score, calibration } = own;
  const aligned = fitted.map((own) => alignedTo(score.days, own?.score));
  const forecasts = new Float64Array(score.days.length);
  memberMeans(aligned, members, forecasts);
  const calibrated = tested.predicted.map((own) => own.subarray(warmUpRows));
  const spansOf = (part: "calibration" | "score") => fitted.map((own) => own?.[part].spans ?? []);
  const [first] = calibration.days;
  const judges = first === undefined ? [] : membersAt(chosen, first);
  const apart = spreadOf(fitted, aligned, members);
  return {
    ...own,
    calibration: {
      ...calibration,
      predicted: chosen.predicted[index]!.subarray(warmUpRows),
      spans: memberLevels(calibration.days, calibrated, spansOf("calibration"), [
        { from: 0, to: calibration.days.length, members: judges },
      ]),
    },
    score: {
      ...score,
      predicted: forecasts,
      spans: memberLevels(score.days, aligned, spansOf("score"), [
        { from: 0, to: forecasts.length, members },
      ]),
    },
    ...(apart === undefined ? {} : { spread: apart }),
  };
}

/** The deviation of the members' forecasts of the last score row; that of its own ensemble if one candidate alone forecasts it. */
function spreadOf(
  fitted: readonly (CandidateForecasts | undefined)[],
  aligned: readonly Float64Array[],
  members: Members,
): number | undefined {
  const hasLast = (c: number) => Number.isFinite(aligned[c]!.at(-1));
  const used = members.filter(hasLast);
  if (used.length >= 2) return sampleDeviation(Float64Array.from(used, (c) => aligned[c]!.at(-1)!));
  return fitted[used[0] ?? aligned.findIndex((_, c) => hasLast(c))]?.spread;
}
