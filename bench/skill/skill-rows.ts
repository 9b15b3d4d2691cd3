import { EXAMPLE_CONFIGS } from "../../src/contract/config/example-configs.ts";
import type { Operation } from "../../src/contract/config/job-operations.ts";

/** A row of the table: a job of ours, or a peer. */
export type SkillRow = {
  readonly name: string;
  readonly what: string;
} & (Ours | Peer);

export interface Ours {
  readonly by: "mucast";
  readonly operation: Operation;
  readonly config: object;
}

/** A peer of bench/peers/skill/forecast.py with the name of the row. */
export interface Peer {
  readonly by: "peer";
  /** Whether its forecasts are returns. */
  readonly isReturn: boolean;
}

/** As in the examples, so that seconds compare. */
const FOLDS = { cv_test_size: 63, n_splits: 5 };

const EXAMPLES: readonly SkillRow[] = EXAMPLE_CONFIGS.map(({ name, summary, operation, config }) => ({
  name,
  what: summary,
  by: "mucast",
  operation,
  config,
}));

/** Every row that there is; to add one, add it here, and a peer to forecast.py too. */
export const SKILL_ROWS: readonly SkillRow[] = [
  ...EXAMPLES,
  {
    name: "lightgbm-7-leaves",
    what: "lightgbm per ticker, 7 leaves, otherwise library defaults",
    ...regressor({ model: "lightgbm", model_params: { num_leaves: 7 } }),
  },
  {
    name: "pooled-lightgbm-defaults",
    what: "Pooled lightgbm at library defaults",
    ...regressor({ model: "lightgbm", fit: "pooled" }),
  },
  peer("plain-lightgbm", "lightgbm at library defaults on the rows of all tickers"),
  peer("plain-lightgbm-regularised", "The same with the parameters of the config pooled-lightgbm"),
  peer("qlib-lightgbm", "qlib's benchmark LightGBM for Alpha158, on z-scores of returns by date", false),
  peer("mlforecast-lightgbm", "mlforecast, global lightgbm at library defaults with five lags"),
  peer("sklearn-mlp", "MLPRegressor with early stopping on standardised features and returns"),
];

/** Networks are slow, so they run only by name. */
export const DEFAULT_ROWS = SKILL_ROWS.filter((row) => row.by === "peer" || row.operation === "run_ml_job");

/** @throws Error for a name that is none. */
export function rowsNamed(names: readonly string[]): SkillRow[] {
  return names.map((name) => {
    const row = SKILL_ROWS.find((candidate) => candidate.name === name);
    if (row !== undefined) return row;
    const known = SKILL_ROWS.map((candidate) => candidate.name).join(", ");
    throw new Error(`--rows: no row is called ${JSON.stringify(name)}; there are ${known}`);
  });
}

function regressor(params: object): Ours {
  return { by: "mucast", operation: "run_ml_job", config: { "ML params": { ...params, ...FOLDS } } };
}

function peer(name: string, what: string, isReturn = true): SkillRow {
  return { name, what, by: "peer", isReturn };
}
