import type { Operation } from "../../contract/config/job-operations.ts";
import { type RawObject, rawNumber, rawNumbers } from "../../contract/json/json-text.ts";

/** Epochs of a network in a quick audit. */
const QUICK_EPOCHS = "2";

/** Epochs of its candidates. */
const OTHER_EPOCHS = "1";

/** Penalty of the candidates of a quick audit; the ridge of the config itself has 1. */
const QUICK_ALPHA = "100";

/**
 * The config that the audit runs, as JSON text; numbers keep the caller's own text. Networks train on the CPU, where equal inputs
 * give equal bits. A quick audit of run_ml_job uses a ridge regression with the caller's folds, intervals, scaler and shrinkage; one
 * of run_dl_job uses one network of the caller's for 2 epochs. The candidates of a quick choice are such models too.
 * @param config a config that the job accepts.
 */
export function auditedConfig(config: string, operation: Operation, quick: boolean): string {
  const given = rawNumbers(config) as RawObject;
  return JSON.stringify(operation === "run_ml_job" ? mlConfig(given, quick) : dlConfig(given, quick));
}

function mlConfig(given: RawObject, quick: boolean): RawObject {
  // No check reads it, and each job of the audit would measure it again.
  const { importance: _, ...params } = given["ML params"] as RawObject;
  if (!quick) return { "ML params": params };
  const { choice, ...alone } = params as { readonly choice?: RawObject };
  const ridge = { ...alone, model: "ridge", model_params: {} };
  const other = { model_params: { alpha: rawNumber(QUICK_ALPHA) } };
  return { "ML params": choice === undefined ? ridge : { ...ridge, choice: quickChoice(choice, other) } };
}

/** One candidate for each way of comparing tickers that the candidates have, with settings that the config itself does not have. */
function quickChoice({ candidates, ...choice }: RawObject, settings: RawObject): RawObject {
  const ways = (candidates as readonly RawObject[]).map(({ fit, target, cross_section }) =>
    JSON.stringify({ fit, target, cross_section }),
  );
  return { ...choice, candidates: [...new Set(ways)].map((way) => ({ ...JSON.parse(way), ...settings })) };
}

function dlConfig(given: RawObject, quick: boolean): RawObject {
  const dot = (given["NN params"] as RawObject)["Dot prediction"] as RawObject;
  const { global_settings = {}, training_params = {}, choice } = dot as Record<string, RawObject>;
  const { ensemble: _, ...ofOne } = training_params;
  const audited = {
    ...dot,
    global_settings: { ...global_settings, device: "cpu" },
    training_params: quick ? { ...ofOne, epochs: rawNumber(QUICK_EPOCHS) } : training_params,
    ...(quick && choice !== undefined
      ? { choice: quickChoice(choice, { training_params: { epochs: rawNumber(OTHER_EPOCHS) } }) }
      : {}),
  };
  return { "NN params": { "Dot prediction": audited } };
}
