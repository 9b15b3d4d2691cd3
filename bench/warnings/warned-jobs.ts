import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import type { Warning } from "../../src/contract/problems/warnings.ts";
import { runDlJob, runMlJob } from "../../src/jobs/run-job.ts";
import { type BlobPair, type Job, runJob } from "../../test/end-to-end/jobs/job-runs.ts";

/** The warnings that are counted. */
export const CODES = [
  "older_forecast",
  "not_daily",
  "warm_up_rows",
  "few_rows",
  "unscaled_features",
  "chosen_early",
  "no_skill",
  "oversized",
  "wild_forecast",
] as const satisfies readonly Warning["code"][];

export type Code = (typeof CODES)[number];

interface Model {
  readonly job: Job;
  readonly config: object;
}

/** Everything else is a default: 15 folds of 15 rows, at most 20 epochs. */
export const MODELS: Readonly<Record<string, Model>> = {
  "ridge, no scaler": regressor({ model: "ridge" }),
  "ridge, standard scaler": regressor({ model: "ridge", scaler: "standard" }),
  "lightgbm, 20 trees of 7 leaves": regressor({
    model: "lightgbm",
    model_params: { n_estimators: 20, num_leaves: 7 },
  }),
  "random forest, 20 trees, max_features sqrt": regressor({
    model: "random_forest",
    model_params: { n_estimators: 20, max_features: "sqrt" },
  }),
  "mlp, 16 units": network("mlp"),
  "lstm, 16 units": network("lstm"),
  "portfolio_lstm, 16 units": network("portfolio_lstm"),
  "mlp, intervals": network("mlp", { intervals: {} }),
  "lstm, intervals": network("lstm", { intervals: {} }),
  "portfolio_lstm, intervals": network("portfolio_lstm", { intervals: {} }),
};

function regressor(params: object): Model {
  return { job: runMlJob, config: { "ML params": params } };
}

function network(option: string, more: object = {}): Model {
  const settings = {
    ...more,
    "current option": option,
    global_settings: { device: "cpu" },
    models_params: { [option]: { hidden_dims: [16] } },
  };
  return { job: runDlJob, config: { "NN params": { "Dot prediction": settings } } };
}

/** The warnings of one job. */
export interface WarnedJob {
  readonly model: string;
  readonly tickers: number;
  /** None for run_ml_job. */
  readonly networks: number;
  /** The number of tickers, or networks, that each of its warnings lists. */
  readonly listed: ReadonlyMap<Code, number>;
}

/** Runs one job of a model. */
export async function warnedJob(blobs: BlobPair, model: string): Promise<WarnedJob> {
  const { job, config } = MODELS[model]!;
  const { output } = await runJob(blobs, JSON.stringify(config), 2, job);
  return {
    model,
    tickers: Object.keys(output.forecasts).length,
    networks: Object.keys(output.training ?? {}).length,
    listed: listedIn(output),
  };
}

function listedIn({ warnings }: OutputBlob): ReadonlyMap<Code, number> {
  const counts = new Map(warnings.map(({ code, count }) => [code, count ?? 0]));
  return new Map(CODES.flatMap((code) => (counts.has(code) ? [[code, counts.get(code)!]] : [])));
}
