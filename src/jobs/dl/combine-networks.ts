import type { Choice } from "../../contract/config/choice/candidates.ts";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { sliceTested } from "../../evaluate/choice/candidate-losses.ts";
import { choosePrequentially, type PrequentialChoice } from "../../evaluate/choice/prequential.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import type { FirstOutcome, FitOutcome } from "../plan.ts";
import type { ChoiceResult } from "../shared/choice/choice-result.ts";
import {
  type CandidateFits,
  type CombinedTicker,
  combineCandidates,
  type TestedFolds,
} from "../shared/choice/combine-candidates.ts";
import { judgedBy, type TrainedTicker } from "./trained-ticker.ts";

/** The rows of a ticker that test its candidates. */
export function testedParts({ validation, calibration }: TrainedTicker) {
  return [validation, calibration];
}

/**
 * Chooses among candidates by the losses of the validation part, and combines their forecasts of the calibration part and of the score rows.
 * The calibration part only judges.
 * @param first the outcome of the first candidate, whose training is the job's.
 */
export function combineNetworks(
  fits: CandidateFits<DlSettings, TrainedTicker>,
  first: FirstOutcome,
  choice: Choice<DlSettings>,
): FitOutcome<TrainedTicker> & { readonly choice: ChoiceResult } {
  const combined = combineCandidates(
    fits,
    choice,
    testedFolds,
    (tested, validated) => {
      const validation = tested.map((ticker, i) => sliceTested(ticker, 0, validated[i]!));
      return choosePrequentially(tested, fits.outcomes.length, choice, validation);
    },
    (ticker, { heldOut, score }, { members }) => {
      const { spread: _, ...own } = ticker.base.fits;
      const apart = spreadOf(ticker, members);
      const judged = judgedBy(own.validation, heldOut);
      return { ...own, ...judged, score, ...(apart === undefined ? {} : { spread: apart }) };
    },
  );
  return { training: new Map(), blockTraining: new Map(), ...first, ...combined };
}

/** The validation part, which only serves the choice, and the calibration part. */
function testedFolds({ validation, calibration, labelSquare }: TrainedTicker): TestedFolds {
  const validated = validation.days.length;
  const parts = [
    { from: 0, to: validated, first: validation.days[0] ?? 0 },
    { from: validated, to: validated + calibration.days.length, first: calibration.days[0] ?? 0 },
  ];
  return {
    folds: parts.filter(({ from, to }) => from < to),
    warmUpFolds: Math.min(1, validated),
    unit: labelSquare,
  };
}

/** The deviation of the members' forecasts of the last score row; that of its own ensemble if one candidate alone forecasts it. */
function spreadOf(
  { base, fitted }: CombinedTicker<TrainedTicker>,
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
