import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import type { SharedSettings } from "../../contract/config/panel-settings.ts";
import { plain } from "./job-document.ts";
import type { OrderedJson } from "./ordered-json.ts";

export function recordedMl(settings: MlSettings): OrderedJson {
  const { model, model_params, cv_test_size, n_splits, scaler, shrinkage, fit, importance } = settings;
  return {
    model: model.name,
    library: model.library,
    class: model.className,
    ...{ model_params, cv_test_size, n_splits, scaler, shrinkage },
    intervals: recordedIntervals(settings),
    ...(fit === "per_ticker" ? {} : { fit }),
    ...recordedShared(settings),
    ...(importance ? { importance } : {}),
  };
}

export function recordedDl(settings: DlSettings): OrderedJson {
  const { status, network, training, ensemble, scaler, lookback, device, seed, shrinkage } = settings;
  const { architecture, ...params } = network;
  const { batch_size, loss, monitor, ...trainingParams } = training;
  return {
    model: architecture,
    status,
    global_settings: { device, seed },
    data_processing: { scaler, lookback, batch_size },
    training_params: {
      ...trainingParams,
      loss_type: loss,
      ensemble,
      ...(monitor === "loss" ? {} : { monitor }), // Omitted if unset, so that older outputs stay the same.
    },
    model_params: plain(params),
    intervals: recordedIntervals(settings),
    shrinkage,
    ...recordedShared(settings),
  };
}

function recordedIntervals({ intervals }: SharedSettings): OrderedJson {
  return intervals === undefined ? null : { enabled: true, ...intervals };
}

/** Those that differ from the defaults, as before they existed. */
function recordedShared({ delay, target, cross_section, refit_every, window }: SharedSettings) {
  return {
    ...(delay === 0 ? {} : { delay }),
    ...(target === "return" ? {} : { target }),
    ...(cross_section ? { cross_section } : {}),
    ...(refit_every && { refit_every }),
    ...(window && { window }),
  };
}
