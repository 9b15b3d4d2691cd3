import type { CostEstimate } from "../../contract/api/job-preview.ts";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { ModelName } from "../../contract/model-params/models.ts";
import { mib } from "../../engine/process-memory.ts";

type Regressor = Pick<MlSettings, "model" | "scaler" | "model_params" | "ensemble">;

/**
 * What one fit costs. `value` and `row`: peak bytes of a worker for each value and each row of the training matrix, without the mapped matrix
 * itself. linear and ridge work on a copy, which is included. `milliseconds` for each fit and `nanoseconds` for each value, measured with
 * default parameters on 1,000 to 50,000 rows of 20 to 30 features.
 */
const FIT_COSTS: Readonly<
  Record<ModelName, Readonly<Record<"value" | "row" | "milliseconds" | "nanoseconds", number>>>
> = {
  random_forest: { value: 4, row: 40, milliseconds: 50, nanoseconds: 45_000 },
  xgboost: { value: 2.5, row: 60, milliseconds: 100, nanoseconds: 600 },
  lightgbm: { value: 2.5, row: 50, milliseconds: 100, nanoseconds: 400 },
  catboost: { value: 5, row: 190, milliseconds: 2_400, nanoseconds: 5_000 },
  linear: { value: 17, row: 30, milliseconds: 1, nanoseconds: 40 },
  ridge: { value: 9, row: 30, milliseconds: 1, nanoseconds: 10 },
  lasso: { value: 8.5, row: 20, milliseconds: 1, nanoseconds: 10 },
  elastic_net: { value: 8.5, row: 20, milliseconds: 1, nanoseconds: 10 },
  quantile: { value: 400, row: 2_000, milliseconds: 10, nanoseconds: 3_000 },
};

const FLOAT_BYTES = 8;

/** @param sizes of the training matrices of all fits. */
export function estimateFits(
  { model, ensemble }: Pick<MlSettings, "model" | "ensemble">,
  sizes: readonly { readonly rows: number; readonly columns: number }[],
): CostEstimate {
  const { milliseconds, nanoseconds } = FIT_COSTS[model.name];
  const values = sizes.map(({ rows, columns }) => rows * columns);
  return {
    seconds: ensemble * values.reduce((sum, one) => sum + milliseconds / 1e3 + (nanoseconds / 1e9) * one, 0),
    matrix_bytes: FLOAT_BYTES * values.reduce((most, one) => Math.max(most, one), 0),
  };
}

/** What one fit reads; `hasAbsent` if some tickers lack a column. */
interface FitSize {
  readonly rows: number;
  readonly columns: number;
  readonly hasAbsent: boolean;
}

const WORKER_BYTES = 32 * 2 ** 20;

/** Bytes of a tree node in scikit-learn, with its value. */
const TREE_NODE_BYTES = 72;

/** Estimated peak memory of a worker for a fit, in bytes, without the files that it maps. */
export function workerBytes(
  size: FitSize,
  { model: { name }, scaler, model_params, ensemble }: Regressor,
): number {
  const { rows, columns, hasAbsent } = size;
  // Scalers copy the rows, and so does filling in absent columns. The first copy is freed once the second is made.
  const copies = (scaler === "none" ? 0 : 1) + (hasAbsent ? 1 : 0);
  const extra = name === "linear" ? 0 : name === "ridge" ? Math.max(0, copies - 1) : Math.min(copies, 1);
  const { value, row } = FIT_COSTS[name];
  const trees = name === "random_forest" ? ensemble * forestBytes(rows, model_params) : 0;
  return Math.ceil(WORKER_BYTES + rows * (columns * (FLOAT_BYTES * extra + value) + row) + trees);
}

/** The trees of a forest, which grow until a leaf has `min_samples_leaf` rows or they reach their depth or size limit. */
function forestBytes(rows: number, params: MlSettings["model_params"]): number {
  const numberOf = (name: string, otherwise: number): number => {
    const value = Number(JSON.stringify(params[name] ?? null));
    return Number.isFinite(value) ? value : otherwise;
  };
  const leaf = numberOf("min_samples_leaf", 1);
  const leaves = Math.min(
    rows / (leaf >= 1 ? leaf : Math.max(1, leaf * rows)),
    2 ** Math.min(60, numberOf("max_depth", 60)),
    numberOf("max_leaf_nodes", rows),
  );
  return numberOf("n_estimators", 100) * 2 * leaves * TREE_NODE_BYTES;
}

/**
 * How many fits of the largest size have room at a time, beside what the processes of the job hold already.
 * @throws MucastError out_of_memory if not even one has.
 */
export function countFitsAtATime(
  size: FitSize,
  regressor: Regressor,
  { limit, held }: { readonly limit: number; readonly held: number },
): number {
  const needed = workerBytes(size, regressor);
  if (held + needed <= limit) return Math.floor((limit - held) / needed);
  const { rows, columns } = size;
  const message =
    `one ${regressor.model.name} for all tickers, on ${counted(rows, "row")} and ${counted(columns, "column")}, takes about ${mib(needed)} ` +
    `of memory in addition to the ${mib(held)} that the job's processes already hold, over the limit of ${mib(limit)}`;
  const data = { needed_bytes: needed, held_bytes: held, limit_bytes: limit, rows, columns };
  throw new MucastError("out_of_memory", message, data);
}
