/** Labels for members of payloads and options of a preparation, by their names. */
const LABELS: Readonly<Record<string, string>> = {
  feature_url: "Features",
  data_extractor_url: "Prices",
  portable: "Same bytes on every processor",
  model: "Model",
  model_params: "Model parameters",
  cv_test_size: "Rows per test fold",
  n_splits: "Folds",
  intervals: "Prediction intervals",
  enabled: "Enabled",
  alpha: "Share outside the interval",
  bound: "Bounded side",
  method: "Method",
  scaler: "Feature scaler",
  shrinkage: "Forecast shrinkage",
  fit: "Regressors",
  target: "Target",
  cross_section: "Add z-scores across tickers",
  refit_every: "Dates between refits",
  window: "Training window (dates)",
  refit_start: "Initial weights of a refit",
  choice: "Choice among candidates",
  candidates: "Further candidates",
  rule: "Forecast of the members",
  over: "Common to all tickers",
  warm_up: "Warm-up folds",
  status: "Enabled",
  "current option": "Network",
  global_settings: "Device and seed",
  device: "Device",
  seed: "Seed",
  data_processing: "Windows",
  lookback: "Rows per window",
  batch_size: "Windows per batch",
  training_params: "Training",
  epochs: "Maximum epochs",
  learning_rate: "Learning rate",
  patience: "Patience (epochs)",
  optimizer: "Optimizer",
  weight_decay: "Weight decay",
  grad_clip: "Maximum gradient norm",
  loss_type: "Loss",
  ensemble: "Networks per ensemble",
  monitor: "Early stopping metric",
  models_params: "Network size",
  hidden_dims: "Layer widths",
  filters: "Filters per block",
  kernel_size: "Kernel size (rows)",
  pool_size: "Pool size (rows)",
  dropout: "Dropout",
  d_model: "Width",
  nhead: "Attention heads",
  num_layers: "Layers",
  dim_feedforward: "Feed-forward width",
  config: "Job config",
  operation: "Job to audit",
  checks: "Checks",
  quick: "Use a quick model instead",
  truncations: "Number of cut dates",
  permutations: "Label permutations",
  accept: "Findings to accept",
  previous_feature_url: "Features of an earlier day",
  previous_data_extractor_url: "Prices of an earlier day",
  output_url: "Output to replay",
  id: "Id",
  start: "First date",
  end: "Last date",
  learning_end: "Training cut-off",
  tickers: "Tickers",
};

/** The label of a member; undefined if the form only knows its name. */
export function labelOf(name: string): string | undefined {
  return Object.hasOwn(LABELS, name) ? LABELS[name] : undefined;
}

/** The question that each check of an audit answers. */
const CHECKS: Readonly<Record<string, string>> = {
  truncation: "does the job look ahead?",
  restatement: "was history rewritten? Needs the blobs of an earlier day",
  foresight: "does a feature know its label?",
  skill: "is the IC higher than by chance?",
};

/** An entry of a list, with its meaning. */
export function choiceLabel(choice: string): string {
  return Object.hasOwn(CHECKS, choice) ? `${choice}: ${CHECKS[choice]}` : choice;
}
