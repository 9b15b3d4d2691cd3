import type { Choice } from "../../contract/config/candidates.ts";
import type { MlCandidates } from "../../contract/config/ml-settings.ts";
import { type MlSettings, parseMlSettings, seedOf } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { trialColumns } from "../../contract/model-params/value-rules.ts";
import { regressorLibraries } from "../../engine/environment/engine-status.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { JobKind } from "../plan.ts";
import { combineRegressors } from "../shared/combine-candidates.ts";
import type { JobContext } from "../shared/job.ts";
import { recordedMl } from "../shared/recorded-settings.ts";
import { now } from "../shared/timings.ts";
import { planPerTicker } from "./per-ticker.ts";
import { listedOfFeatures } from "./plan-warnings.ts";
import { planPooledFits } from "./pooled.ts";

export const REGRESSORS: JobKind<MlSettings> = {
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
  plan: (panels, settings, blocks) => PLANS[settings.fit](panels, settings, blocks),
  tested: (settings, choice) => ({
    ...settings,
    n_splits: settings.n_splits + (choice as MlCandidates).warm_up,
  }),
  choose: (fits, first, choice) => combineRegressors(fits, first, choice as MlCandidates),
  judged: () => "out_of_fold",
  recorded: recordedMl,
  seed: seedOf,
  model: ({ model, model_params }) => ({ name: model.name, params: model_params }),
  fit: ({ fit }) => fit,
};

const PLANS: Readonly<Record<MlSettings["fit"], typeof planPerTicker>> = {
  per_ticker: planPerTicker,
  pooled: planPooledFits,
};

function candidatesOf({ choice, ...settings }: MlSettings & { readonly choice?: Choice<MlSettings> }) {
  return choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
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
