/** Labels for members of payloads and options of a preparation whose names do not say enough. */
const LABELS: Readonly<Record<string, string>> = {
  feature_url: "Features",
  data_extractor_url: "Prices",
  portable: "Same bytes on every processor",
  model_params: "Model parameters",
  cv_test_size: "Rows per test fold",
  n_splits: "Folds",
  intervals: "Prediction intervals",
  alpha: "Share outside the interval",
  bound: "Bounded side",
  scaler: "Feature scaler",
  shrinkage: "Forecast shrinkage",
  fit: "Regressors",
  delay: "Closes before the trade",
  cross_section: "Add z-scores across tickers",
  importance: "Measure the importance of features",
  smoothing: "Smoothing over dates",
  half_life: "Half-life (dates)",
  refit_every: "Dates between refits",
  window: "Training window (dates)",
  choice: "Choice among candidates",
  candidates: "Further candidates",
  grid: "Values by parameter",
  draws: "Number of draws",
  draw: "Distributions by parameter",
  rule: "Forecast of the members",
  measure: "Compare candidates by",
  warm_up: "Warm-up folds",
  status: "Enabled",
  "current option": "Network",
  global_settings: "Device and seed",
  data_processing: "Windows",
  lookback: "Rows per window",
  batch_size: "Windows per batch",
  training_params: "Training",
  epochs: "Maximum epochs",
  patience: "Patience (epochs)",
  grad_clip: "Maximum gradient norm",
  loss_type: "Loss",
  ensemble: "Models per ensemble",
  monitor: "Early stopping metric",
  models_params: "Network size",
  hidden_dims: "Layer widths",
  filters: "Filters per block",
  kernel_size: "Kernel size (rows)",
  pool_size: "Pool size (rows)",
  d_model: "Width",
  nhead: "Attention heads",
  num_layers: "Layers",
  dim_feedforward: "Feed-forward width",
  config: "Job config",
  operation: "Job to audit",
  quick: "Use a quick model instead",
  truncations: "Number of cut dates",
  permutations: "Label permutations",
  accept: "Findings to accept",
  previous_feature_url: "Features of an earlier day",
  previous_data_extractor_url: "Prices of an earlier day",
  output_url: "Output to replay",
  start: "First date",
  end: "Last date",
  learning_end: "Training cut-off",
  only_features: "Only features of your own",
  ticker: "Ticker of the file",
  date_format: "Order of dates",
  format: "Format of the blobs",
  float32: "Features as float32",
};

/** The label of a member; undefined for a section that is called by its name. */
export function labelOf(name: string): string | undefined {
  if (Object.hasOwn(LABELS, name)) return LABELS[name];
  const words = name.replaceAll("_", " ");
  return /^[a-z ]+$/.test(words) ? `${words[0]!.toUpperCase()}${words.slice(1)}` : undefined;
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
