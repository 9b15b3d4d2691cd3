import { rmSync } from "node:fs";
import type { Report } from "../../contract/api/job-events.ts";
import { compareCodePoints } from "../../contract/data/code-points.ts";
import { Turns } from "../../contract/machine/pausable.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import type { EpochProgress } from "../../engine/pool/network-protocol.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";
import {
  costsOneTicker,
  type Trained,
  type TrainingRecord,
  type TrainOptions,
  trainedNetwork,
  trainStacks,
} from "./train-stacks.ts";

export interface TrainOutcome {
  /** Ascending by code point. */
  readonly trained: readonly TrainedTicker[];
  /** By ticker, or `portfolio`; ascending by code point. */
  readonly training: ReadonlyMap<string, TrainingRecord>;
  readonly failures: readonly Failure[];
}

/**
 * Trains every network, as many at a time as the pool has workers; on a GPU in stacks, one after the other. What a
 * network learns does not depend on the others, nor on when it is trained.
 * @throws MucastError of the engine where it is not about one ticker, or where the network is a joint one.
 */
export async function trainNetworks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
): Promise<TrainOutcome> {
  const stop = new AbortController();
  const inner = { ...options, signal: AbortSignal.any([options.signal, stop.signal]) };
  const count = new EpochCount(networks.length, options.epochs, options.report);
  // The largest first, so that no worker is left alone with one at the end.
  const queue = networks.toSorted((a, b) => b.size - a.size || compareCodePoints(a.name, b.name));
  const alone = async (network: PlannedNetwork): Promise<[string, Trained][]> => [
    [network.name, await train(network, inner, count)],
  ];
  const stacks = options.device !== "cpu" && !queue.some(({ joint }) => joint);
  const running: Promise<[string, Trained][]>[] = [];
  const start = (training: Promise<[string, Trained][]>) => {
    running.push(training);
    training.catch((error: unknown) => stop.abort(error));
  };
  try {
    if (stacks) start(trainStacks(queue, inner, count));
    else {
      // Each writes its matrices as it starts.
      const turns = new Turns(inner.signal);
      for (const network of queue) {
        start(alone(network));
        await turns.giveWay();
      }
    }
    const trained = (await Promise.all(running)).flat();
    options.timings.endAll();
    return sortOutcome(trained);
  } finally {
    await Promise.allSettled(running);
  }
}

async function train(
  network: PlannedNetwork,
  { pool, device, threads, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<Trained> {
  const { name } = network;
  const { task, files } = await network.task({ device, threads, signal });
  try {
    const onProgress = (progress: EpochProgress) => count.epoch(name, progress);
    const result = await pool.run(task, { signal, onProgress });
    timings.add(name, result.seconds);
    timings.end(name);
    const trained = await trainedNetwork(network, result, signal);
    count.end(name);
    return trained;
  } catch (error) {
    if (network.joint || !costsOneTicker(error)) throw error;
    count.end(name);
    return { ticker: name, code: error.code, message: error.message };
  } finally {
    for (const file of files) rmSync(file, { force: true });
  }
}

function sortOutcome(done: readonly (readonly [string, Trained])[]): TrainOutcome {
  const trained: TrainedTicker[] = [];
  const training = new Map<string, TrainingRecord>();
  const failures: Failure[] = [];
  for (const [name, result] of done.toSorted(([a], [b]) => compareCodePoints(a, b))) {
    if ("code" in result) failures.push(result);
    else {
      trained.push(...result.tickers);
      training.set(name, result.record);
    }
  }
  return { trained, training, failures };
}

/** Tells how many epochs of all networks are done. One that a second attempt repeats is not counted twice. */
export class EpochCount {
  readonly #epochs: number;
  readonly #total: number;
  readonly #report: Report;
  readonly #done = new Map<string, number>();
  #sum = 0;

  /** @param epochs the most that each network trains. */
  constructor(networks: number, epochs: number, report: Report) {
    this.#epochs = epochs;
    this.#total = networks * epochs;
    this.#report = report;
  }

  /** A network, named by its ticker or `portfolio`, has done an epoch. */
  epoch(ticker: string, { epoch, train_loss, validation_loss }: EpochProgress): void {
    this.#advance(ticker, epoch);
    this.#tell({ ticker, epoch, train_loss, validation_loss });
  }

  /** A network is done or has failed: what early stopping saved counts as done. Told where that is anything. */
  end(ticker: string): void {
    if (this.#advance(ticker, this.#epochs) > 0) this.#tell({});
  }

  /** @returns how many epochs are done that were not before. */
  #advance(ticker: string, epochs: number): number {
    const before = this.#done.get(ticker) ?? 0;
    const more = Math.max(0, epochs - before);
    this.#done.set(ticker, before + more);
    this.#sum += more;
    return more;
  }

  #tell(epoch: Partial<EpochProgress> & { readonly ticker?: string }): void {
    this.#report({ kind: "progress", stage: "fit", done: this.#sum, total: this.#total, ...epoch });
  }
}
