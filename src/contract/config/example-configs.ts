import type { Operation } from "./job-operations.ts";

export interface ExampleConfig {
  /** Lower-case words with hyphens: the name of its file, and the argument of `mucast examples`. */
  readonly name: string;
  readonly operation: Operation;
  readonly summary: string;
  readonly config: object;
}

/** Five blocks of half a year: 630 out-of-fold dates for six fits, because few dates say little about a factor. */
const HALF_YEARS = { cv_test_size: 126, n_splits: 5 };

/** One regressor per ticker judges its own rows: 315 of them. */
const QUARTERS = { cv_test_size: 63, n_splits: 5 };

/** What the published forecasts of a large panel need: intervals, and sizes that the out-of-fold rows justify. */
const PUBLISHED = { shrinkage: "pooled", intervals: { alpha: 0.1 } };

const POOLED_LIGHTGBM = {
  model: "lightgbm",
  model_params: {
    n_estimators: 400,
    learning_rate: 0.02,
    num_leaves: 31,
    min_child_samples: 2000,
    subsample: 0.7,
    subsample_freq: 1,
    colsample_bytree: 0.3,
    reg_lambda: 50,
    random_state: 42,
  },
  fit: "pooled",
  target: "relative",
  cross_section: true,
  ...HALF_YEARS,
  ...PUBLISHED,
};

const LSTM_SIZE = { hidden_dims: [32], dropout: 0.2 };

/** Configs for panels of daily equities. docs/skill.md has the evidence for each. `npm run generate` writes them to examples/configs. */
export const EXAMPLE_CONFIGS: readonly ExampleConfig[] = [
  {
    name: "pooled-lightgbm",
    operation: "run_ml_job",
    summary:
      "One strongly regularised lightgbm for all tickers, on returns relative to the other tickers of the date",
    config: { "ML params": POOLED_LIGHTGBM },
  },
  {
    name: "pooled-lightgbm-refits",
    operation: "run_ml_job",
    summary:
      "The same, refitted every 63 dates of the score rows: shows how the model would perform in production",
    config: { "ML params": { ...POOLED_LIGHTGBM, refit_every: 63 } },
  },
  {
    name: "pooled-ridge",
    operation: "run_ml_job",
    summary:
      "One ridge regression for all tickers, on relative returns: the fastest model that compares tickers",
    config: {
      "ML params": {
        model: "ridge",
        model_params: { alpha: 1000 },
        scaler: "standard",
        fit: "pooled",
        target: "relative",
        cross_section: true,
        ...HALF_YEARS,
        ...PUBLISHED,
      },
    },
  },
  {
    name: "portfolio-lstm",
    operation: "run_dl_job",
    summary:
      "One LSTM for all tickers on relative returns, with early stopping by IC: the mean of five networks",
    config: jointNetwork("portfolio_lstm", 10, LSTM_SIZE),
  },
  {
    name: "portfolio-lstm-smoothed",
    operation: "run_dl_job",
    summary:
      "The same, for trades of each day's order a close later: forecasts are smoothed, so that costs leave more of it",
    config: jointNetwork("portfolio_lstm", 10, LSTM_SIZE, { delay: 1, smoothing: { half_life: 2 } }),
  },
  {
    name: "portfolio-transformer",
    operation: "run_dl_job",
    summary:
      "One transformer for all tickers on relative returns, with early stopping by IC: the mean of five networks",
    config: jointNetwork("portfolio_transformer", 10, { d_model: 32, nhead: 4, num_layers: 1, dropout: 0.1 }),
  },
  {
    name: "ridge",
    operation: "run_ml_job",
    summary: "One ridge regression per ticker, with forecasts shrunk by one factor for all tickers",
    config: {
      "ML params": {
        model: "ridge",
        model_params: { alpha: 1000 },
        scaler: "standard",
        ...QUARTERS,
        ...PUBLISHED,
      },
    },
  },
];

/** A window of one row is enough, because the features of `prepare` cover up to 126 days. */
function jointNetwork(option: string, epochs: number, size: object, others: object = {}): object {
  return {
    "NN params": {
      "Dot prediction": {
        "current option": option,
        data_processing: { lookback: 1, batch_size: 16 },
        training_params: { epochs, patience: 5, monitor: "ic", ensemble: 5 },
        models_params: { [option]: size },
        target: "relative",
        cross_section: true,
        ...others,
        ...PUBLISHED,
      },
    },
  };
}

export function exampleConfigText({ config }: ExampleConfig): string {
  return `${JSON.stringify(config, null, 2)}\n`;
}
