import type { Operation } from "../../contract/config/job-operations.ts";
import { type RawObject, rawNumbers } from "../../contract/json/json-text.ts";

/** Settings of a quick audit, and of its candidates, which must differ: the ridge of the config itself has a penalty of 1. */
const QUICK = { epochs: 2, otherEpochs: 1, otherAlpha: 100 };

/**
 * The config that the audit runs, as JSON text; numbers keep the caller's own text. Networks train on the CPU, where equal inputs
 * give equal bits. A quick audit of run_ml_job uses a ridge regression with the caller's folds, intervals, scaler and shrinkage; one
 * of run_dl_job uses one network of the caller's for 2 epochs. The candidates of a quick choice are such models too.
 * @param config a config that the job accepts.
 */
export function auditedConfig(config: string, operation: Operation, quick: boolean): string {
  const given = rawNumbers(config) as Record<string, RawObject>;
  if (operation === "run_ml_job") {
    // No check reads the importance, and each job of the audit would measure it again.
    const { importance: _, ...params } = given["ML params"]!;
    const choice = quickChoice(params, { model_params: { alpha: QUICK.otherAlpha } });
    // A ridge has no seed.
    const { ensemble: __, ...others } = params;
    const ridge = { ...others, model: "ridge", model_params: {}, ...choice };
    return JSON.stringify({ "ML params": quick ? ridge : params });
  }
  const dot = given["NN params"]!["Dot prediction"] as Record<string, RawObject>;
  const { ensemble: _, ...training } = dot.training_params ?? {};
  const onCpu = {
    ...dot,
    global_settings: { ...dot.global_settings, device: "cpu" },
    training_params: dot.training_params ?? {},
  };
  const quickDot = {
    ...onCpu,
    training_params: { ...training, epochs: QUICK.epochs },
    ...quickChoice(dot, { training_params: { epochs: QUICK.otherEpochs } }),
  };
  return JSON.stringify({ "NN params": { "Dot prediction": quick ? quickDot : onCpu } });
}

/** One candidate for each way of comparing tickers that the candidates of a config have, with settings that it does not have itself. */
function quickChoice({ choice }: RawObject, settings: object) {
  if (choice === undefined) return {};
  const { candidates, ...rest } = choice as RawObject;
  const ways = (candidates as readonly RawObject[]).map(({ fit, target, cross_section }) =>
    JSON.stringify({ fit, target, cross_section }),
  );
  return {
    choice: { ...rest, candidates: [...new Set(ways)].map((way) => ({ ...JSON.parse(way), ...settings })) },
  };
}
