import type { DlSettings } from "../contract/dl-settings.ts";
import type { DlEvaluation } from "./dl-evaluation.ts";
import { type DocumentParts, jobDocument, plain, recordedIntervals } from "./job-document.ts";
import type { OrderedJson } from "./ordered-json.ts";
import type { TrainingRecord } from "./trained-network.ts";

/** What the output blob of run_dl_job is made of. */
export type DlOutputParts = Pick<
  DocumentParts,
  "id" | "createdAt" | "window" | "asOf" | "warnings" | "failures" | "provenance"
> & {
  readonly settings: DlSettings;
  readonly evaluation: DlEvaluation;
  readonly training: ReadonlyMap<string, TrainingRecord>;
};

/** The output blob of run_dl_job. */
export function dlOutput({ settings, evaluation, training, ...parts }: DlOutputParts): OrderedJson {
  return jobDocument({
    ...parts,
    operation: "run_dl_job",
    tickers: evaluation.tickers,
    making: { training: plain(training) },
    evidence: evaluation.evidence,
    intervals: settings.intervals,
    model: modelOf(settings),
  });
}

/** The resolved configuration in the sections of the request: what was trained, every default filled in. */
function modelOf(settings: DlSettings): OrderedJson {
  const { architecture, ...params } = settings.network;
  const { batch_size, loss, ...training } = settings.training;
  return {
    model: architecture,
    status: settings.enabled,
    global_settings: { device: settings.device, seed: settings.seed },
    data_processing: { scaler: settings.scaler, lookback: settings.lookback, batch_size },
    training_params: { ...training, loss_type: loss },
    model_params: plain(params),
    intervals: recordedIntervals(settings.intervals),
  };
}
