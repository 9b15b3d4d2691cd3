/** Members of payloads, and options of a preparation, in words by their names. */
const LABELS: Readonly<Record<string, string>> = {
  feature_url: "Features",
  data_extractor_url: "Prices",
  portable: "Same bytes on every processor",
  model: "Model",
  model_params: "Arguments of the model",
  cv_test_size: "Rows of a test fold",
  n_splits: "Folds",
  intervals: "Prediction intervals",
  enabled: "Switched on",
  alpha: "Share that may fall outside",
  bound: "Bounded side",
  method: "Method",
  scaler: "Scaler of the features",
  shrinkage: "Shrinkage of the forecasts",
  fit: "Regressors",
  target: "What the models learn",
  cross_section: "Add z-scores among the tickers of a date",
  refit_every: "Dates before models are fitted again",
  window: "Dates that a fit learns from",
  status: "Switched on",
  "current option": "Network",
  global_settings: "Machine",
  device: "Device",
  seed: "Seed",
  data_processing: "Windows",
  lookback: "Rows of a window",
  batch_size: "Windows of a batch",
  training_params: "Training",
  epochs: "Epochs at most",
  learning_rate: "Learning rate",
  patience: "Epochs without progress",
  optimizer: "Optimizer",
  weight_decay: "Weight decay",
  grad_clip: "Largest gradient norm",
  loss_type: "Loss",
  ensemble: "Networks of an ensemble",
  monitor: "Early stopping watches",
  models_params: "Size of the network",
  hidden_dims: "Widths of the layers",
  filters: "Filters of the blocks",
  kernel_size: "Rows of a kernel",
  pool_size: "Rows of a pooling",
  dropout: "Dropout",
  d_model: "Width",
  nhead: "Attention heads",
  num_layers: "Layers",
  dim_feedforward: "Width of the feed-forward part",
  config: "Config of the job",
  operation: "Job to audit",
  checks: "Checks",
  quick: "A quick model in place of the job's own",
  truncations: "Dates to cut after",
  permutations: "Permutations of the labels",
  accept: "Features to accept",
  previous_feature_url: "Features of an earlier day",
  previous_data_extractor_url: "Prices of an earlier day",
  output_url: "Output to replay",
  id: "Id",
  start: "First date",
  end: "Last date",
  learning_end: "Last date to learn",
  tickers: "Tickers",
};

/** A member in words; undefined for one whose name is all that the form knows. */
export function labelOf(name: string): string | undefined {
  return Object.hasOwn(LABELS, name) ? LABELS[name] : undefined;
}

/** What each check of an audit asks. */
const CHECKS: Readonly<Record<string, string>> = {
  truncation: "does the job look ahead?",
  restatement: "was history rewritten? It needs an earlier day's blobs",
  foresight: "does a feature know its label?",
  skill: "is the IC above what chance gives?",
};

/** An entry of a list with what it means. */
export function choiceLabel(choice: string): string {
  return Object.hasOwn(CHECKS, choice) ? `${choice}: ${CHECKS[choice]}` : choice;
}
