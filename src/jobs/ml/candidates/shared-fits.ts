import type { MlSettings } from "../../../contract/config/ml-settings.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { inlineArray, readArray, removeArray } from "../../../engine/npy.ts";
import type { RunOptions } from "../../../engine/pool/pool.ts";
import type { FitPredictResult, FitPredictTask } from "../../../engine/pool/protocol.ts";
import type { TaskPool } from "../../plan.ts";
import { treeCountOf } from "./tree-counts.ts";

/** A candidate of a group whose members differ in the number of trees alone. */
interface Member {
  readonly candidate: number;
  readonly trees: number;
  readonly estimator: MlSettings["estimator"];
}

/**
 * Fits of candidates that differ in the number of trees alone. The first of them that needs a fit has it run with the most trees, and the
 * engine predicts with the first trees for the others, bit for bit as if each had its own fit. They get these results when their turn comes.
 */
export class SharedFits {
  readonly #pool: TaskPool;
  /** By candidate, then by task. */
  readonly #kept = new Map<number, Map<string, FitPredictResult>>();
  /** Tasks whose shared run failed: every candidate runs its own, and fails or succeeds by itself. */
  readonly #failed = new Set<string>();

  private constructor(pool: TaskPool) {
    this.#pool = pool;
  }

  /** The pools for the fits of each candidate, which run in the order of the candidates. @param settings one per candidate. */
  static poolsOf(pool: TaskPool, settings: readonly MlSettings[]): TaskPool[] {
    const shared = new SharedFits(pool);
    const counted = settings.flatMap((own, candidate) => {
      const { group, trees } = treeCountOf(own) ?? {};
      if (group === undefined || trees === undefined) return [];
      return [{ group, candidate, trees, estimator: own.estimator }];
    });
    const groups = [...Map.groupBy(counted, ({ group }) => group).values()];
    return settings.map((_, c) => {
      const group = groups.find((members) => members.some(({ candidate }) => candidate === c));
      if (group === undefined || group.length === 1) return pool;
      const left = group.filter(({ candidate }) => candidate >= c);
      const run = (task: FitPredictTask, options?: RunOptions<FitPredictTask>) =>
        shared.#run(left, task, options);
      return { capacity: pool.capacity, heldBytes: () => pool.heldBytes(), run: run as TaskPool["run"] };
    });
  }

  /** @param members the candidate that runs, and later ones of its group. */
  async #run(
    members: readonly Member[],
    task: FitPredictTask,
    options?: RunOptions<FitPredictTask>,
  ): Promise<FitPredictResult> {
    const { candidate } = members[0]!;
    // Equal for the same task of two candidates: their matrices are copies of one.
    const key = `${task.label} ${JSON.stringify(task.fits)}`;
    // Results that an earlier candidate did not ask for.
    for (const earlier of this.#kept.keys()) if (earlier < candidate) this.#kept.delete(earlier);
    const kept = this.#kept.get(candidate)?.get(key);
    if (kept !== undefined) {
      this.#kept.get(candidate)!.delete(key);
      for (const fit of task.fits.keys()) options?.onProgress?.({ fit, seconds: 0 });
      return kept;
    }
    if (members.length > 1 && !this.#failed.has(key)) {
      try {
        return await this.#runShared(members, task, key, options);
      } catch (error) {
        // An error about the whole engine ends the job.
        if (!(error instanceof MucastError)) throw error;
        const isOfFits = error.code === "engine_crashed" && error.data.deaths !== undefined;
        if (error.code !== "fit_failed" && !isOfFits) throw error;
        this.#failed.add(key);
      }
    }
    return await this.#pool.run(task, options);
  }

  async #runShared(
    [first, ...later]: readonly Member[],
    task: FitPredictTask,
    key: string,
    options?: RunOptions<FitPredictTask>,
  ): Promise<FitPredictResult> {
    const ascending = [first!, ...later].sort((a, b) => a.trees - b.trees);
    const tree_counts = ascending.map(({ trees }) => trees);
    const shared = { ...task, estimator: ascending.at(-1)!.estimator, tree_counts };
    const { predictions, diagnoses, seconds } = await this.#pool.run(shared, options);
    const values = readArray(predictions);
    if (!("base64" in predictions)) removeArray(task.predictions.ref);
    const partOf = <T extends { slice(from: number, to: number): T; readonly length: number }>(
      all: T,
      i: number,
    ) => all.slice((i * all.length) / ascending.length, ((i + 1) * all.length) / ascending.length);
    const resultOf = (member: Member): FitPredictResult => {
      const i = ascending.indexOf(member);
      const own = { predictions: inlineArray(partOf(values, i)), diagnoses: partOf([...diagnoses], i) };
      // Tree models always converge.
      return { ...own, seconds: member === first ? seconds : seconds.map(() => 0), unconverged_fits: 0 };
    };
    for (const member of later) {
      const byTask = this.#kept.get(member.candidate) ?? new Map<string, FitPredictResult>();
      this.#kept.set(member.candidate, byTask.set(key, resultOf(member)));
    }
    return resultOf(first!);
  }
}
