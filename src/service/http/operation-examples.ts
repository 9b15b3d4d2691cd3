import type { OperationView } from "../../contract/operation-view.ts";
import type { StoredEvent } from "../../contract/stored-event.ts";

const ID = "5f0c2d1e-8a57-4c0e-9d2b-3f1f6a7b8c9d";

/** Where blobs are in all examples; a service that shows them puts its own place there. */
export const EXAMPLE_BLOBS = "http://127.0.0.1:8080";

/** Those of `examples/tiny`, which the service gives away at `/examples/<name>`. */
const BLOBS = {
  feature_url: `${EXAMPLE_BLOBS}/data/feature_engine_tiny.json`,
  data_extractor_url: `${EXAMPLE_BLOBS}/data/data_extractor_tiny.json`,
};

export const ML_PAYLOAD = {
  ...BLOBS,
  config: {
    "ML params": {
      model: "ridge",
      cv_test_size: 3,
      n_splits: 5,
      intervals: { alpha: 0.1 },
      model_params: { alpha: 1 },
    },
  },
};

export const DL_PAYLOAD = {
  ...BLOBS,
  config: {
    "NN params": {
      "Dot prediction": { "current option": "lstm", training_params: { epochs: 20, loss_type: "huber" } },
    },
  },
};

export const WAITING: OperationView = {
  id: ID,
  operation: "run_ml_job",
  status: "NotStarted",
  created_at: "2026-01-05T08:30:00.000Z",
  started_at: null,
  finished_at: null,
  progress: null,
  warnings: [],
  result: null,
  error: null,
};

export const RUNNING: OperationView = {
  ...WAITING,
  status: "Running",
  started_at: "2026-01-05T08:30:00.412Z",
  progress: { stage: "fit", done: 12, total: 100 },
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
