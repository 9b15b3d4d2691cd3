import type { Choice } from "../../contract/config/choice/candidates.ts";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { Day } from "../../contract/market/dates.ts";
import { lossSeries, type TestedTicker } from "../../evaluate/choice/candidate-losses.ts";
import { foldForecasts } from "../../evaluate/choice/member-forecasts.ts";
import {
  choicesAt,
  END,
  foldDates,
  membersOverTime,
  type PrequentialChoice,
} from "../../evaluate/choice/prequential.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import type { FirstOutcome, FitOutcome } from "../plan.ts";
import type { ChoiceResult } from "../shared/choice/choice-result.ts";
import {
  type CandidateFits,
  type CombinedTicker,
  combineCandidates,
  type TestedFolds,
} from "../shared/choice/combine-candidates.ts";
import type { HeldOutPart, ModelledTicker } from "../shared/modelled-ticker.ts";
import { judgedBy } from "./trained-ticker.ts";

/**
 * Chooses among candidates by the losses of the validation part, and combines their forecasts of the calibration part and of the score rows.
 * The calibration part only judges.
 * @param first the outcome of the first candidate, whose training is the job's.
 */
export function combineNetworks(
  fits: CandidateFits<DlSettings>,
  first: FirstOutcome,
  choice: Choice<DlSettings>,
): FitOutcome & { readonly choice: ChoiceResult } {
  const combined = combineCandidates(
    fits,
    choice,
    testedFolds,
    (tested, validated) => chooseByValidation(tested, validated, fits.outcomes.length, choice),
    (ticker, { heldOut, score }, { members }) => {
      const { spread: _, ...own } = ticker.base.fits;
      const apart = spreadOf(ticker, members);
      const judged = judgedBy(own.tested[0]!, heldOut);
      return { ...own, ...judged, score, ...(apart === undefined ? {} : { spread: apart }) };
    },
  );
  return { training: new Map(), blockTraining: new Map(), ...first, ...combined };
}

/** The validation part, which only serves the choice, and the calibration part. */
function testedFolds({ tested }: ModelledTicker): TestedFolds {
  const [validation, calibration] = tested as [HeldOutPart, HeldOutPart];
  const validated = validation.days.length;
  const parts = [
    { from: 0, to: validated, first: validation.days[0] ?? 0 },
    { from: validated, to: validated + calibration.days.length, first: calibration.days[0] ?? 0 },
  ];
  return {
    folds: parts.filter(({ from, to }) => from < to),
    warmUpFolds: Math.min(1, validated),
  };
}

/** The members at a date, by the losses of validation rows whose label is known. @param validated the number of these rows, by ticker. */
function chooseByValidation(
  tested: readonly TestedTicker[],
  validated: readonly number[],
  candidates: number,
  { rule, measure }: Choice<DlSettings>,
): PrequentialChoice {
  const validation = tested.map((ticker, i): TestedTicker => {
    const to = validated[i]!;
    return {
      ...ticker,
      days: ticker.days.subarray(0, to),
      labelDays: ticker.labelDays.subarray(0, to),
      realised: ticker.realised.subarray(0, to),
      predicted: ticker.predicted.map((own) => own.subarray(0, to)),
    };
  });
  const series = lossSeries(validation, candidates, measure);
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

/** The deviation of the members' forecasts of the last score row; that of its own ensemble if one candidate alone forecasts it. */
function spreadOf(
  { base, fitted }: CombinedTicker,
  members: PrequentialChoice["members"],
): number | undefined {
  const last = base.fits.score.days.at(-1);
  const lastOf = (c: number) => {
    const own = fitted[c]?.score;
    return own !== undefined && own.days.at(-1) === last ? own.predicted.at(-1)! : Number.NaN;
  };
  const used = members.filter((c) => Number.isFinite(lastOf(c)));
  if (used.length >= 2) return sampleDeviation(Float64Array.from(used, lastOf));
  return fitted[used[0] ?? fitted.findIndex((_, c) => Number.isFinite(lastOf(c)))]?.spread;
}
