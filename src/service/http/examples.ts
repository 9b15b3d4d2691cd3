import type { ForecastView } from "../../contract/api/forecast-view.ts";
import type { JobPreview } from "../../contract/api/job-preview.ts";
import type { OperationView, VerdictView } from "../../contract/api/operation-view.ts";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { StoredEvent } from "../../contract/api/stored-event.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";

const ID = "5f0c2d1e-8a57-4c0e-9d2b-3f1f6a7b8c9d";

/** Origin of all examples, in place of which a service shows its own. */
export const EXAMPLE_BLOBS = "http://127.0.0.1:8080";

/** Blobs of `examples/sp500-30`, which the service offers at `/examples/<name>`. */
export const EXAMPLE_NAMES = ["feature_engine_sp500.parquet", "data_extractor_sp500.parquet"] as const;

const BLOBS = {
  feature_url: `${EXAMPLE_BLOBS}/data/${EXAMPLE_NAMES[0]}`,
  data_extractor_url: `${EXAMPLE_BLOBS}/data/${EXAMPLE_NAMES[1]}`,
};

export const ML_PAYLOAD = {
  ...BLOBS,
  config: {
    "ML params": {
      model: "ridge",
      fit: "pooled",
      target: "relative",
      shrinkage: "pooled",
      intervals: { alpha: 0.1 },
    },
  },
};

const DL_PAYLOAD = {
  ...BLOBS,
  config: {
    "NN params": {
      "Dot prediction": { "current option": "lstm", training_params: { epochs: 20, loss_type: "huber" } },
    },
  },
};

export const EXAMPLE_PAYLOADS: Readonly<Record<SubmittedOperation, unknown>> = {
  run_ml_job: ML_PAYLOAD,
  run_dl_job: DL_PAYLOAD,
  audit: { ...ML_PAYLOAD, checks: ["truncation", "foresight"], truncations: 3, quick: true },
  replay: { output_url: `${EXAMPLE_BLOBS}/data/ml_engine_${ID}.json` },
};

export const PREVIEW: JobPreview = {
  model: { name: "ridge", params: { alpha: 1 } },
  window: {
    ...{ start: "2020-01-02", end: "2026-01-05", learning_end: "2024-12-31", as_of: "2026-01-05" },
    median_spacing_days: 1,
  },
  tickers: [
    {
      ...{ ticker: "AAPL", features: 52, fit_rows: 1206, score_rows: 252 },
      ...{ first_fit: "2020-03-17", last_fit: "2024-12-30", mu: true },
    },
  ],
  ticker_count: 1,
  failures: [],
  failure_counts: {},
  pooled: { rows: 1458, fit_rows: 1206, columns: 52, bytes: 606_528, fit_bytes: 2_000_000, folds: 15 },
  estimate: { seconds: 0.05, matrix_bytes: 606_528 },
  warnings: [],
  warning_counts: {},
};

export const QUEUE: QueueView = {
  waiting: 3,
  running: 2,
  own: { waiting: 1, running: 1 },
  service: { running: 2, jobs: 2, cores: { used: 4, of: 4 } },
  scopes: ["read", "write"],
};

export const WAITING: OperationView = {
  id: ID,
  operation: "run_ml_job",
  status: "NotStarted",
  model: "ridge",
  tags: ["ridge", "nightly"],
  inputs: { feature: EXAMPLE_NAMES[0], data_extractor: EXAMPLE_NAMES[1] },
  created_at: "2026-01-05T08:30:00.000Z",
  ...{ started_at: null, finished_at: null, progress: null, warnings: [], result: null, error: null },
};

export const RUNNING: OperationView = {
  ...WAITING,
  status: "Running",
  started_at: "2026-01-05T08:30:00.412Z",
  progress: { stage: "fit", done: 12, total: 100, percent: 12, seconds_left: 88 },
};

export const SUCCEEDED: OperationView = {
  ...RUNNING,
  status: "Succeeded",
  finished_at: "2026-01-05T08:30:09.038Z",
  progress: { stage: "write", done: 1, total: 1 },
  warnings: [
    { code: "fewer_folds", message: "AAPL: 4 of 5 folds fit into its history", ticker: "AAPL", count: 4 },
  ],
  result: {
    status: "Succeeded",
    output_url: `${EXAMPLE_BLOBS}/data/ml_engine_${ID}.json`,
    output_name: `ml_engine_${ID}.json`,
    execution_name: "ml-worker-job-5f0c2d1e",
  },
};

export const EVENTS: readonly StoredEvent[] = [
  {
    seq: 1,
    operation_id: ID,
    time: WAITING.created_at,
    type: "queued",
    data: { operation: "run_ml_job" },
  },
  { seq: 2, operation_id: ID, time: RUNNING.started_at!, type: "started", data: { attempt: 1 } },
  { seq: 3, operation_id: ID, time: "2026-01-05T08:30:02.118Z", type: "progress", data: RUNNING.progress! },
  { seq: 4, operation_id: ID, time: SUCCEEDED.finished_at!, type: "succeeded", data: SUCCEEDED },
];

const DIGEST = "4f0c1a2b".repeat(8);

export const VERDICT: VerdictView = {
  id: ID,
  operation: "replay",
  output_name: `replay_${ID}.json`,
  replay: {
    schema: "mucast.replay/1",
    id: ID,
    verdict: "identical",
    output: {
      url: `${EXAMPLE_BLOBS}/data/ml_engine_${ID}.json`,
      sha256: DIGEST,
      operation: "run_ml_job",
      id: ID,
      created_at: SUCCEEDED.finished_at,
    },
    compared: { sha256: DIGEST, replayed_sha256: DIGEST, numbers: 734 },
    lacks: [],
    versions: [],
    machine: [],
  },
};

const METRICS = {
  ...{ n: 252, rmse: 0.0182, mae: 0.0131, hit_rate: 0.5139, up_share: 0.5321, hit_rate_se: 0.0315 },
  ...{ r2_zero: 0.0011, r2_mean: 0.0004, correlation: 0.0412 },
};

export const FORECAST: ForecastView = {
  id: ID,
  operation: "run_ml_job",
  output_name: `ml_engine_${ID}.json`,
  window: {
    ...{ start: "2020-01-02", end: "2026-01-05", learning_end: "2024-12-31", as_of: "2026-01-05" },
    median_spacing_days: 1,
  },
  count: 20,
  forecasts: [
    {
      ticker: "AAPL",
      mu: 0.00123,
      mu_date: "2026-01-05",
      interval: { lower: -0.0281, upper: 0.0317 },
      metrics: METRICS,
      coverage: {
        ...{ n: 252, coverage: 0.897, mean_width: 0.061, interval_score: 0.083, worst_250: 0.884 },
        prequential: { n: 205, coverage: 0.902 },
      },
      shrinkage: { n: 225, b: 0.41, se: 0.27, s: 0.14 },
    },
  ],
  missing: [],
  left_out: 0,
  metrics: {
    score: {
      pooled: METRICS,
      cross_section: {
        ...{ dates: 252, mean_tickers: 20 },
        ...{ ic_mean: 0.013, ic_std: 0.21, icir: 0.062, ic_t: 0.98, ic_t_newey_west: 0.91 },
        ...{ rank_ic_mean: 0.011, rank_ic_std: 0.2, rank_icir: 0.055, rank_ic_t: 0.87 },
      },
    },
    baselines: {
      zero: { ...METRICS, hit_rate: null, up_share: null, hit_rate_se: null, correlation: null },
      mean: METRICS,
    },
    shrinkage: { n: 4500, b: 0.19, se: 0.08, s: 0.11 },
  },
  intervals: {
    ...{ method: "adaptive", alpha: 0.1, bound: "both" },
    pooled: {
      ...{ n: 5040, coverage: 0.899, mean_width: 0.064, interval_score: 0.086, worst_250: 0.856 },
      prequential: { n: 4100, coverage: 0.901 },
    },
  },
};
