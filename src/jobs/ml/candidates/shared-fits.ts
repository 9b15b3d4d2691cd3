import type { MlSettings } from "../../../contract/config/ml-settings.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { inlineArray, readArray, removeArray } from "../../../engine/npy.ts";
import type { EnginePool, RunOptions } from "../../../engine/pool/pool.ts";
import type { Diagnosis, FitPredictResult, FitPredictTask } from "../../../engine/pool/protocol.ts";
import { treeCountOf } from "./tree-counts.ts";

/** The part of the engine that fits need. */
export interface FitPool extends Pick<EnginePool, "capacity" | "heldBytes"> {
  run(task: FitPredictTask, options?: RunOptions<FitPredictTask>): Promise<FitPredictResult>;
}

/** A candidate of a group whose members differ in the number of trees alone. */
interface Member {
  readonly candidate: number;
  readonly trees: number;
  readonly estimator: MlSettings["estimator"];
}

/** What a shared fit found for a candidate that has not run yet. */
interface KeptResult {
  readonly predictions: Float64Array;
  readonly diagnoses: readonly Diagnosis[];
}

/**
 * Fits of candidates that differ in the number of trees alone. The first of them that needs a fit has it run with the most trees, and the
 * engine predicts with the first trees for the others, bit for bit as if each had its own fit. They get these results when their turn comes.
 */
export class SharedFits {
  readonly #pool: FitPool;
  readonly #groups: ReadonlyMap<number, readonly Member[]>;
  /** By candidate, then by task. */
  readonly #kept = new Map<number, Map<string, KeptResult>>();
  /** Tasks whose shared run failed: every candidate runs its own, and fails or succeeds by itself. */
  readonly #failed = new Set<string>();

  /** @param settings one per candidate. */
  constructor(pool: FitPool, settings: readonly MlSettings[]) {
    this.#pool = pool;
    this.#groups = groupsOf(settings);
  }

  /** The pool for the fits of a candidate, which run in the order of the candidates. */
  poolOf(candidate: number): FitPool {
    const members = this.#groups.get(candidate)?.filter((member) => member.candidate >= candidate) ?? [];
    if (members.length === 0) return this.#pool;
    return {
      capacity: this.#pool.capacity,
      heldBytes: () => this.#pool.heldBytes(),
      run: (task, options) => this.#run(members, task, options),
    };
  }

  /** Drops results that a candidate did not ask for. */
  finish(candidate: number): void {
    this.#kept.delete(candidate);
  }

  /** @param members the candidate that runs, and later ones of its group. */
  async #run(
    members: readonly Member[],
    task: FitPredictTask,
    options?: RunOptions<FitPredictTask>,
  ): Promise<FitPredictResult> {
    const [{ candidate }, ...later] = members as readonly [Member, ...Member[]];
    const key = keyOf(task);
    const kept = this.#kept.get(candidate)?.get(key);
    if (kept !== undefined) {
      this.#kept.get(candidate)!.delete(key);
      for (const fit of task.fits.keys()) options?.onProgress?.({ fit, seconds: 0 });
      return resultOf(
        kept,
        task.fits.map(() => 0),
      );
    }
    if (later.length === 0 || this.#failed.has(key)) return await this.#pool.run(task, options);
    try {
      return await this.#runShared(members, task, key, options);
    } catch (error) {
      if (!isOfFits(error)) throw error;
      this.#failed.add(key);
      return await this.#pool.run(task, options);
    }
  }

  /** @returns the result of the first of these candidates. */
  async #runShared(
    members: readonly Member[],
    task: FitPredictTask,
    key: string,
    options?: RunOptions<FitPredictTask>,
  ): Promise<FitPredictResult> {
    const ascending = members.toSorted((a, b) => a.trees - b.trees);
    const { estimator } = ascending.at(-1)!;
    const shared = { ...task, estimator, tree_counts: ascending.map(({ trees }) => trees) };
    const { predictions, diagnoses, seconds } = await this.#pool.run(shared, options);
    const values = readArray(predictions);
    if (!("base64" in predictions)) removeArray(task.predictions.ref);
    const parts = ascending.map((member, i) => ({
      member,
      kept: {
        predictions: values.slice(...partOf(values, i, ascending)),
        diagnoses: diagnoses.slice(...partOf(diagnoses, i, ascending)),
      },
    }));
    const [{ candidate }] = members as readonly [Member];
    for (const { member, kept } of parts) {
      if (member.candidate === candidate) continue;
      const byTask = this.#kept.get(member.candidate) ?? new Map<string, KeptResult>();
      this.#kept.set(member.candidate, byTask.set(key, kept));
    }
    return resultOf(parts.find(({ member }) => member.candidate === candidate)!.kept, seconds);
  }
}

/** Candidates by number, with those of their group; those that share with none are left out. */
function groupsOf(settings: readonly MlSettings[]): Map<number, readonly Member[]> {
  const counted = settings.flatMap((own, candidate) => {
    const { group, trees } = treeCountOf(own) ?? {};
    if (group === undefined || trees === undefined) return [];
    return [{ group, candidate, trees, estimator: own.estimator }];
  });
  const groups = [...Map.groupBy(counted, ({ group }) => group).values()].filter(({ length }) => length > 1);
  return new Map(groups.flatMap((members) => members.map(({ candidate }) => [candidate, members])));
}

/** Equal for the same task of two candidates of a group: their matrices are copies of one. */
function keyOf({ label, fits }: FitPredictTask): string {
  return `${label} ${JSON.stringify(fits)}`;
}

/** The range of one of several equal parts. */
function partOf(
  whole: { readonly length: number },
  part: number,
  parts: { readonly length: number },
): [from: number, to: number] {
  const size = whole.length / parts.length;
  return [part * size, (part + 1) * size];
}

function resultOf({ predictions, diagnoses }: KeptResult, seconds: readonly number[]): FitPredictResult {
  // Tree models always converge.
  return { predictions: inlineArray(predictions), diagnoses, seconds, unconverged_fits: 0 };
}

/** Whether an error is about the fits of one task, not about the whole engine. */
function isOfFits(error: unknown): boolean {
  if (!(error instanceof MucastError)) return false;
  return error.code === "fit_failed" || (error.code === "engine_crashed" && error.data.deaths !== undefined);
}
