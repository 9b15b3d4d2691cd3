import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import {
  recordedPanelSettings,
  recordedRefitSettings,
  recordedSmoothing,
} from "../../contract/config/panel-settings.ts";
import { plain } from "./job-document.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** The settings of run_ml_job as its output records them: with every default filled in. */
export function recordedMl(settings: MlSettings): OrderedJson {
  const { model, resolvedParams, ensemble, cvTestSize, nSplits } = settings;
  const { intervals, scaler, shrinkage, fit, importance } = settings;
  return {
    model: model.name,
    library: model.library,
    class: model.className,
    model_params: resolvedParams,
    ...(ensemble === 1 ? {} : { ensemble }),
    cv_test_size: cvTestSize,
    n_splits: nSplits,
    ...{ scaler, shrinkage },
    intervals: intervals === undefined ? null : { enabled: true, ...intervals },
    ...(fit === "per_ticker" ? {} : { fit }),
    ...recordedPanelSettings(settings),
    ...recordedSmoothing(settings),
    ...recordedRefitSettings(settings),
    ...(importance ? { importance } : {}),
  };
}

export function recordedDl(settings: DlSettings): OrderedJson {
  const { enabled, network, training, ensemble, scaler, lookback, device, seed, intervals, shrinkage } =
    settings;
  const { architecture, ...params } = network;
  const { batch_size, loss, monitor, ...trainingParams } = training;
  return {
    model: architecture,
    status: enabled,
    global_settings: { device, seed },
    data_processing: { scaler, lookback, batch_size },
    training_params: {
      ...trainingParams,
      loss_type: loss,
      ensemble,
      ...(monitor === "loss" ? {} : { monitor }), // Omitted if unset, so that older outputs stay the same.
    },
    model_params: plain(params),
    intervals: intervals === undefined ? null : { enabled: true, ...intervals },
    shrinkage,
    ...recordedPanelSettings(settings),
    ...recordedSmoothing(settings),
    ...recordedRefitSettings(settings),
  };
}
