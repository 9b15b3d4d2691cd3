import type { Failure } from "../../contract/problems/failures.ts";
import type { StackProgress, TrainNetworkTask, TrainResult } from "../../engine/pool/network-protocol.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { memberName, memberTask, removeFiles, type TrainedNetwork, trainedNetwork } from "./ensemble.ts";
import type { EpochCount } from "./epoch-count.ts";
import type { PlannedNetwork, WrittenTask } from "./planned-network.ts";
import { costsOneTicker } from "./ticker-errors.ts";
import type { NamedResult, TrainOptions } from "./train-network.ts";

/** Networks of one task. A worker that dies costs every network of its task, and no other. */
export const LARGEST_STACK = 64;

/** One network of a stack. */
interface StackEntry {
  readonly of: StackedEnsemble;
  readonly member: number;
}

/**
 * Trains networks of single tickers in stacks, as many at a time as there are GPUs, and no larger than gives each GPU one.
 * Members of an ensemble are entries like others; those of a network that has failed are not begun.
 * @throws MucastError of the engine where it is not about one ticker.
 */
export async function trainStacks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
  count: EpochCount,
): Promise<readonly NamedResult[]> {
  const { ensemble, gpus } = options;
  const ensembles = networks.map((network) => new StackedEnsemble(network, ensemble));
  const waiting: StackEntry[] = ensembles.flatMap((of) =>
    Array.from({ length: ensemble }, (_, member) => ({ of, member })),
  );
  const size = Math.min(LARGEST_STACK, Math.ceil(waiting.length / gpus));
  const nextStack = (): StackEntry[] => {
    const stack: StackEntry[] = [];
    for (let next = waiting.shift(); next; next = stack.length < size ? waiting.shift() : undefined) {
      if (next.of.hasFailed) continue;
      next.of.begin();
      stack.push(next);
    }
    return stack;
  };
  const trainNext = async (signal: AbortSignal): Promise<void> => {
    for (let stack = nextStack(); stack.length > 0; stack = nextStack()) {
      await trainStack(stack, { ...options, signal }, count);
    }
  };
  await runEach(options.signal, async (start, signal) => {
    for (let gpu = 0; gpu < gpus; gpu++) start(trainNext(signal));
  });
  return ensembles.map((one) => {
    count.finishAll(one.network.name);
    return one.named;
  });
}

async function trainStack(
  stack: readonly StackEntry[],
  { pool, device, threads, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const networks: TrainNetworkTask[] = [];
  for (const { of, member } of stack) networks.push(await of.task(member, { device, threads, signal }));
  const onProgress = (progress: StackProgress) => count.epoch(progress.ticker, progress.member, progress);
  const results = await pool.run({ task: "train_stack", networks, device }, { signal, onProgress }).then(
    (answer) => answer.results,
    (error: unknown) => {
      if (!costsOneTicker(error)) throw error;
      return stack.map(() => error);
    },
  );
  for (const [index, { of, member }] of stack.entries()) {
    const { name } = of.network;
    const result = results[index]!;
    if ("code" in result) await of.fail(member, result);
    else {
      timings.add(name, result.seconds);
      await of.finish(member, result, signal);
    }
    if (of.isDone) timings.finish(name);
    count.finish(name, member);
  }
}

/** The members of one network, on matrices that are written as the first of them begins and removed as the last one ends. */
class StackedEnsemble {
  readonly network: PlannedNetwork;
  readonly #ensemble: number;
  #written: Promise<WrittenTask> | undefined;
  /** Members that have begun and not ended. */
  #running = 0;
  readonly #results = new Map<number, TrainResult>();
  readonly #failures = new Map<number, Failure>();
  #trained: TrainedNetwork | undefined;

  constructor(network: PlannedNetwork, ensemble: number) {
    this.network = network;
    this.#ensemble = ensemble;
  }

  get hasFailed(): boolean {
    return this.#failures.size > 0;
  }

  get isDone(): boolean {
    return this.#running === 0 && (this.hasFailed || this.#trained !== undefined);
  }

  /** A member belongs to the next stack: from now on until it ends the matrices stay. */
  begin(): void {
    this.#running++;
  }

  /** The task of a member that has begun. @throws as PlannedNetwork's `task` does. */
  async task(member: number, means: Parameters<PlannedNetwork["task"]>[0]): Promise<TrainNetworkTask> {
    this.#written ??= this.network.task(means);
    const { task } = await this.#written;
    // Joint networks are in no stack.
    return memberTask(task as TrainNetworkTask, member, this.#ensemble);
  }

  /** Ends a member that was trained; the last one with the forecasts of all. @throws the reason of `signal`. */
  async finish(member: number, result: TrainResult, signal: AbortSignal): Promise<void> {
    this.#results.set(member, result);
    if (this.#results.size === this.#ensemble) {
      const results = Array.from({ length: this.#ensemble }, (_, place) => this.#results.get(place)!);
      this.#trained = await trainedNetwork(this.network, results, signal);
    }
    await this.#end();
  }

  /** Ends a member that failed. */
  async fail(member: number, { code, message }: Pick<Failure, "code" | "message">): Promise<void> {
    const { name } = this.network;
    const named = `${memberName(name, member, this.#ensemble)}: ${message}`;
    this.#failures.set(member, { ticker: name, code, message: named });
    await this.#end();
  }

  /** What was trained, or why the first of the members that failed did; once none runs any more. */
  get named(): NamedResult {
    const failed = Math.min(...this.#failures.keys());
    return [this.network.name, this.#failures.get(failed) ?? this.#trained!];
  }

  async #end(): Promise<void> {
    this.#running--;
    if (!this.isDone) return;
    const { files, task } = await this.#written!;
    const members = Array.from({ length: this.#ensemble }, (_, member) =>
      memberTask(task, member, this.#ensemble),
    );
    removeFiles([...files, ...members.map(({ predictions }) => predictions.ref)]);
  }
}
