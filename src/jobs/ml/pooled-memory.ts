import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { ModelName } from "../../contract/model-params/models.ts";
import { mib } from "../../engine/process-memory.ts";

type Regressor = Pick<MlSettings, "model" | "scaler" | "resolvedParams">;

/** What one fit reads. */
export interface FitSize {
  readonly rows: number;
  readonly columns: number;
  /** Whether some tickers lack a column, which each fit fills in on a copy. */
  readonly hasAbsent: boolean;
  /** The rows that are predicted with shuffled features; absent or 0 without `importance`. */
  readonly shuffledRows?: number;
}

/**
 * Peak memory of a worker during a fit, in bytes for each value and for each row of its training matrix, without the mapped matrix itself;
 * `npm run bench -- pooled-memory` measures some. linear and ridge work on a copy, which is included here.
 */
const FIT_BYTES: Readonly<Record<ModelName, { readonly value: number; readonly row: number }>> = {
  random_forest: { value: 4, row: 40 },
  xgboost: { value: 2.5, row: 60 },
  lightgbm: { value: 2.5, row: 50 },
  catboost: { value: 5, row: 190 },
  linear: { value: 17, row: 30 },
  ridge: { value: 9, row: 30 },
  lasso: { value: 8.5, row: 20 },
  elastic_net: { value: 8.5, row: 20 },
  quantile: { value: 400, row: 2_000 },
};

const FLOAT_BYTES = 8;

/** The private memory of a worker without a task. */
const WORKER_BYTES = 32 * 2 ** 20;

/** lightgbm chooses its bins by a sample of this many rows, which it holds before it has made them. */
const BIN_SAMPLE = { rows: 200_000, valueBytes: 14 };

/** Bytes of a tree node in scikit-learn, with its value. */
const TREE_NODE_BYTES = 72;

/** Estimated peak memory of a worker for a fit, in bytes, without the files that it maps. */
export function workerBytes(size: FitSize, regressor: Regressor): number {
  const { rows, columns, shuffledRows = 0 } = size;
  const { name } = regressor.model;
  // The rows, and their copy that the scaler makes.
  const shuffled = 2 * FLOAT_BYTES * shuffledRows * columns;
  const values = rows * columns;
  const library = FIT_BYTES[name].value * values + FIT_BYTES[name].row * rows;
  const sample = name === "lightgbm" ? BIN_SAMPLE.valueBytes * Math.min(rows, BIN_SAMPLE.rows) * columns : 0;
  const trees = name === "random_forest" ? forestBytes(rows, regressor.resolvedParams) : 0;
  return Math.ceil(
    WORKER_BYTES + copiedBytes(size, regressor) + Math.max(library, sample) + trees + shuffled,
  );
}

/** Scalers copy the rows, and so does filling in absent columns. The first copy is freed once the second is made. */
function copiedBytes({ rows, columns, hasAbsent }: FitSize, { model, scaler }: Regressor): number {
  const copy = FLOAT_BYTES * rows * columns;
  const copies = (scaler === "none" ? 0 : 1) + (hasAbsent ? 1 : 0);
  if (model.name === "linear") return 0;
  if (model.name === "ridge") return copies === 2 ? copy : 0;
  return Math.min(copies, 1) * copy;
}

/** The trees of a forest, which grow until a leaf has `min_samples_leaf` rows or they reach their depth or size limit. */
function forestBytes(rows: number, params: MlSettings["resolvedParams"]): number {
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

/** Memory that fits share. Each requests its part before it starts, and waits until there is room. */
export class MemoryRoom {
  #free: number;
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** Runs `body` once this many bytes are free, first come, first served. @param bytes at most the total room. */
  async during<T>(bytes: number, body: () => Promise<T>): Promise<T> {
    await new Promise<void>((enter) => {
      this.#waiting.push({ bytes, enter });
      this.#admit();
    });
    try {
      return await body();
    } finally {
      this.#free += bytes;
      this.#admit();
    }
  }

  #admit(): void {
    for (
      let next = this.#waiting[0];
      next !== undefined && next.bytes <= this.#free;
      next = this.#waiting[0]
    ) {
      this.#waiting.shift();
      this.#free -= next.bytes;
      next.enter();
    }
  }
}

/**
 * The room for fits beside what the processes of the job hold already.
 * @param size of the largest fit.
 * @throws MucastError out_of_memory if even that fit alone does not fit in.
 */
export function roomForFits(
  size: FitSize,
  settings: Regressor,
  { limit, held }: { readonly limit: number; readonly held: number },
): MemoryRoom {
  const needed = workerBytes(size, settings);
  if (held + needed <= limit) return new MemoryRoom(limit - held);
  const { rows, columns } = size;
  const message =
    `one ${settings.model.name} for all tickers, on ${counted(rows, "row")} and ${counted(columns, "column")}, takes about ${mib(needed)} ` +
    `of memory in addition to the ${mib(held)} that the job's processes already hold, over the limit of ${mib(limit)}`;
  const data = { needed_bytes: needed, held_bytes: held, limit_bytes: limit, rows, columns };
  throw new MucastError("out_of_memory", message, data);
}
