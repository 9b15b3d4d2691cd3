import type { Operation } from "../../contract/config/job-operations.ts";
import { type RawObject, rawNumber, rawNumbers } from "../../contract/json/json-text.ts";

/** Epochs of a network in a quick audit. */
const QUICK_EPOCHS = "2";

/**
 * The config that the audit runs, as JSON text; numbers keep the caller's own text. Networks train on the CPU, where equal inputs
 * give equal bits. A quick audit of run_ml_job uses a ridge regression with the caller's folds, intervals, scaler and shrinkage; one
 * of run_dl_job uses one network of the caller's for 2 epochs.
 * @param config a config that the job accepts.
 */
export function auditedConfig(config: string, operation: Operation, quick: boolean): string {
  const given = rawNumbers(config) as RawObject;
  return JSON.stringify(operation === "run_ml_job" ? mlConfig(given, quick) : dlConfig(given, quick));
}

function mlConfig(given: RawObject, quick: boolean): RawObject {
  const params = given["ML params"] as RawObject;
  return { "ML params": quick ? { ...params, model: "ridge", model_params: {} } : params };
}

function dlConfig(given: RawObject, quick: boolean): RawObject {
  const dot = (given["NN params"] as RawObject)["Dot prediction"] as RawObject;
  const { global_settings = {}, training_params = {} } = dot as Record<string, RawObject>;
  const { ensemble: _, ...ofOne } = training_params;
  const audited = {
    ...dot,
    global_settings: { ...global_settings, device: "cpu" },
    training_params: quick ? { ...ofOne, epochs: rawNumber(QUICK_EPOCHS) } : training_params,
  };
  return { "NN params": { "Dot prediction": audited } };
}
