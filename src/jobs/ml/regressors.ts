import type { Choice } from "../../contract/config/choice/candidates.ts";
import type { MlCandidates } from "../../contract/config/ml-settings.ts";
import { type MlSettings, parseMlSettings, seedOf } from "../../contract/config/ml-settings.ts";
import { recordsRefits } from "../../contract/config/panel-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { trialColumns } from "../../contract/model-params/column-demands.ts";
import { regressorLibraries } from "../../engine/environment/engine-status.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import type { JobKind } from "../plan.ts";
import type { JobContext } from "../shared/job.ts";
import { recordedMl } from "../shared/recorded-settings.ts";
import { now } from "../shared/timings.ts";
import { combineRegressors } from "./candidates/combine-regressors.ts";
import { SharedFits } from "./candidates/shared-fits.ts";
import type { FittedTicker } from "./fitted-ticker.ts";
import { fitTickers, planPerTicker } from "./per-ticker.ts";
import { listedOfFeatures } from "./plan-warnings.ts";
import { planPooledFits } from "./pooled.ts";

export const REGRESSORS: JobKind<MlSettings, FittedTicker> = {
  environment: "ml",
  parse: parseMlSettings,
  libraries: (settings) => [
    ...new Set(
      candidatesOf(settings).flatMap(({ estimator, scaler }) =>
        regressorLibraries(estimator.library, scaler),
      ),
    ),
  ],
  start: tryParameters,
  listed: listedOfFeatures,
  plan: (panels, settings, blocks) =>
    (settings.fit === "pooled" ? planPooledFits : planPerTicker)(panels, settings, blocks),
  fitWhileReading: (settings) =>
    comparesTickers(settings)
      ? undefined
      : (read, run) => fitTickers(read, { ...run, settings, blocks: ONE_BLOCK }),
  poolsOf: SharedFits.poolsOf,
  tested: (settings, choice) => ({
    ...settings,
    nSplits: settings.nSplits + (choice as MlCandidates).warmUp,
  }),
  testedParts: ({ heldOut }) => [heldOut],
  choose: (fits, first, choice) => combineRegressors(fits, first, choice as MlCandidates),
  judged: () => "out_of_fold",
  recorded: recordedMl,
  seed: seedOf,
  model: ({ model, resolvedParams }) => ({ name: model.name, params: resolvedParams }),
  fit: ({ fit }) => fit,
};

function candidatesOf({ choice, ...settings }: MlSettings & { readonly choice?: Choice<MlSettings> }) {
  return choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
}

/** Whether something needs the rows of all tickers before the first is fitted. */
function comparesTickers(settings: MlSettings): boolean {
  const { fit, target, crossSection, choice, importance, halfLife } = settings;
  const isAlone = fit === "per_ticker" && target === "return" && !crossSection && !importance;
  return !isAlone || choice !== undefined || halfLife !== undefined || recordsRefits(settings);
}

/** The usual trial takes a fraction of a second; a task on a cluster may wait longer. */
const MAX_TRIAL_SECONDS = 60;

/** Tries the parameters of every candidate on synthetic rows. @throws MucastError invalid_model_params. */
async function tryParameters(pool: EnginePool, settings: MlSettings, context: JobContext): Promise<string> {
  const { onTiming, cluster } = context;
  const greeted = pool.greeting.then(now, now);
  const limit = new AbortController();
  const signal = AbortSignal.any([context.signal, limit.signal]);
  const trials = candidatesOf(settings).map(({ estimator, scaler, columnDemands }) =>
    pool.run({ task: "trial", estimator, scaler, columns: trialColumns(columnDemands) }, { signal }),
  );
  const ended = Promise.allSettled(trials);
  await Promise.race([greeted, ended]);
  const message = `the trial fit on 60 rows takes more than ${MAX_TRIAL_SECONDS} seconds with these parameters`;
  const slow = new MucastError("invalid_model_params", message);
  const timer = setTimeout(() => cluster ?? limit.abort(slow), 1_000 * MAX_TRIAL_SECONDS);
  const outcomes = await ended;
  clearTimeout(timer);
  // The first error in the order of the candidates: which trial ends first depends on the workers.
  for (const [c, trial] of outcomes.entries()) {
    if (trial.status === "fulfilled") continue;
    const { reason: error } = trial;
    if (!(error instanceof MucastError && error.code === "invalid_model_params") || c === 0) throw error;
    const { label } = settings.choice!.candidates[c]!;
    throw new MucastError(error.code, `candidate ${c} (${label}): ${error.message}`, error.data);
  }
  onTiming?.({ name: "trial fit", start: await greeted, end: now() });
  return "cpu";
}
