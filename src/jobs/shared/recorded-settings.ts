import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import {
  recordedPanelSettings,
  recordedRefitSettings,
  refitSettings,
} from "../../contract/config/panel-settings.ts";
import type { IntervalChoice } from "../../evaluate/intervals/ticker-intervals.ts";
import { plain } from "./job-document.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** The settings of run_ml_job as its output records them: with every default filled in. */
export function recordedMl(settings: MlSettings): OrderedJson {
  const { model, resolvedParams, cvTestSize, nSplits, intervals, scaler, shrinkage, ...others } = settings;
  const { fit, delay, target, crossSection, refitEvery, window, importance, ...rest } = others;
  // The first two follow from the parameters; the member `choice` of the output records the third.
  const { estimator: _, columnDemands: __, choice: ___, ...unrecorded } = rest;
  unrecorded satisfies Record<string, never>; // A new setting does not compile until it is recorded here.
  return {
    model: model.name,
    library: model.library,
    class: model.className,
    model_params: resolvedParams,
    cv_test_size: cvTestSize,
    n_splits: nSplits,
    scaler,
    shrinkage,
    intervals: recordedIntervals(intervals),
    ...(fit === "per_ticker" ? {} : { fit }),
    ...recordedPanelSettings({ delay, target, crossSection }),
    ...recordedRefitSettings(refitSettings(refitEvery, window)),
    ...(importance ? { importance } : {}),
  };
}

/** The same of run_dl_job, in the sections of its config. */
export function recordedDl(settings: DlSettings): OrderedJson {
  const {
    enabled,
    network,
    training,
    ensemble,
    scaler,
    lookback,
    device,
    seed,
    intervals,
    shrinkage,
    delay,
    target,
    crossSection,
    refitEvery,
    window,
    ...rest
  } = settings;
  // The first two are derived from the others; the member `choice` of the output records the third.
  const { joint: _, calibrates: __, choice: ___, ...unrecorded } = rest;
  unrecorded satisfies Record<string, never>; // A new setting does not compile until it is recorded here.
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
    intervals: recordedIntervals(intervals),
    shrinkage,
    ...recordedPanelSettings({ delay, target, crossSection }),
    ...recordedRefitSettings(refitSettings(refitEvery, window)),
  };
}

function recordedIntervals(intervals: IntervalChoice): OrderedJson {
  return intervals === undefined ? null : { enabled: true, ...intervals };
}
