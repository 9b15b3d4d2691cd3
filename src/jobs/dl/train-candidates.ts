import type { Candidate, Choice } from "../../contract/config/choice/candidates.ts";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Report } from "../../contract/output/job-events.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { ChoiceResult } from "../shared/choice/choice-result.ts";
import { CandidateFits } from "../shared/choice/combine-candidates.ts";
import { errorOfCandidate } from "../shared/choice/lost-tickers.ts";
import { failuresWithout } from "../shared/late-tickers.ts";
import { combineNetworks, testedParts } from "./combine-networks.ts";
import type { NetworkPlan, TrainedTicker } from "./planned-network.ts";
import { costsOneTicker, type TrainOptions, trainNetworks } from "./train-networks.ts";
import type { TrainOutcome } from "./trained-blocks.ts";

/** A candidate, and the networks that it plans. */
export interface PlannedCandidate {
  readonly candidate: Candidate<DlSettings>;
  readonly plan: NetworkPlan;
}

type CommonOptions = Omit<TrainOptions, "ensemble" | "epochs">;

/**
 * Trains the networks of every candidate, one candidate after another. If there are several, a joint network that cannot be trained leaves
 * its candidate without any ticker.
 * @throws MucastError errors of the engine that are not about one network.
 */
export async function trainCandidates(
  planned: readonly PlannedCandidate[],
  options: CommonOptions,
  choice: Choice<DlSettings> | undefined,
): Promise<TrainOutcome & { readonly choice?: ChoiceResult }> {
  const epochs = planned.map(plannedEpochs);
  const total = epochs.reduce((sum, count) => sum + count, 0);
  const fits = new CandidateFits<DlSettings, TrainedTicker>(testedParts);
  let first: TrainOutcome | undefined;
  let finished = 0;
  for (const [i, { candidate, plan }] of planned.entries()) {
    const {
      ensemble,
      training: { epochs: most },
    } = candidate.settings;
    const report = reportOf(options.report, i, finished, total);
    const own = { ...options, ensemble, epochs: most, report };
    const training = trainNetworks(plan.networks, own);
    const outcome = await (planned.length === 1
      ? training
      : training.catch((error: unknown) => failedOutcome(error, plan, i, candidate.label)));
    const failures = [...failuresWithout(outcome.failures, plan.failures), ...outcome.failures];
    fits.add(candidate, outcome.trained, { failures, warnings: outcome.warnings });
    first ??= { ...outcome, failures };
    finished += epochs[i]!;
  }
  if (choice !== undefined) return combineNetworks(fits, first!, choice);
  const failures = first!.failures.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  return { ...first!, failures };
}

/** The epochs that the networks of a candidate train at most. */
function plannedEpochs({ candidate: { settings }, plan }: PlannedCandidate): number {
  return plan.networks.length * settings.ensemble * settings.training.epochs;
}

/** Progress over all candidates. The losses of candidates after the first are not reported: they would mix with those of the first. */
function reportOf(report: Report, candidate: number, finished: number, total: number): Report {
  return (event) => {
    if (event.kind !== "progress" || event.stage !== "fit") report(event);
    else if (candidate === 0) report({ ...event, total });
    else report({ kind: "progress", stage: "fit", done: finished + event.done, total });
  };
}

/** @throws any other error; that of an engine whose processes died has the name of the candidate. */
function failedOutcome(error: unknown, { networks }: NetworkPlan, c: number, label: string): TrainOutcome {
  if (!costsOneTicker(error)) throw error;
  if (error.code === "engine_crashed") throw errorOfCandidate(error, c, label);
  const tickers = new Set(networks.flatMap((network) => network.tickers));
  return withoutTickers([...tickers].map((ticker) => ({ ticker, code: error.code, message: error.message })));
}

/** The outcome of a candidate that no ticker takes part in. */
function withoutTickers(failures: readonly Failure[]): TrainOutcome {
  return {
    trained: [],
    training: new Map(),
    blockTraining: new Map(),
    failures,
    warnings: [],
    blockRows: [],
  };
}

/** Codes of errors that leave a candidate's plan without a network. */
const PLAN_CODES: ReadonlySet<string> = new Set(["insufficient_history", "constant_target", "all_failed"]);

/** The plan of a candidate whose windows are too few for a joint network. @throws any other error. */
export function failedPlan(error: unknown, tickers: readonly string[]): NetworkPlan {
  if (!(error instanceof MucastError && PLAN_CODES.has(error.code))) throw error;
  const { code, message } = error;
  return { networks: [], joined: [], failures: tickers.map((ticker) => ({ ticker, code, message })) };
}
