import { rmSync } from "node:fs";
import type { StackProgress, TrainNetworkTask } from "../engine/network-protocol.ts";
import type { EpochCount } from "./epoch-count.ts";
import type { PlannedNetwork, WrittenTask } from "./planned-network.ts";
import { costsOneTicker, type Trained, type TrainOptions, trainedNetwork } from "./trained-network.ts";

/** Networks of one task; a worker that dies costs no more of them. */
export const LARGEST_STACK = 64;

/**
 * Trains networks of single tickers in stacks, one after the other.
 * @returns name and outcome of each.
 * @throws MucastError of the engine where it is not about one ticker.
 */
export async function trainStacks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
  count: EpochCount,
): Promise<[string, Trained][]> {
  const done: [string, Trained][] = [];
  for (let first = 0; first < networks.length; first += LARGEST_STACK) {
    const stack = networks.slice(first, first + LARGEST_STACK);
    const trained = await trainStack(stack, options, count);
    for (const [index, { name }] of stack.entries()) {
      count.end(name);
      done.push([name, trained[index]!]);
    }
  }
  return done;
}

async function trainStack(
  stack: readonly PlannedNetwork[],
  { pool, device, threads, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<readonly Trained[]> {
  const written: WrittenTask[] = [];
  for (const network of stack) written.push(await network.task({ device, threads, signal }));
  const networks = written.map(({ task }) => task as TrainNetworkTask);
  try {
    const onProgress = (progress: StackProgress) => count.epoch(progress.ticker, progress);
    const { results } = await pool.run({ task: "train_stack", networks, device }, { signal, onProgress });
    const trained: Trained[] = [];
    for (const [index, network] of stack.entries()) {
      const { name } = network;
      const result = results[index]!;
      if ("code" in result) {
        trained.push({ ticker: name, code: result.code, message: `${name}: ${result.message}` });
        continue;
      }
      timings.add(name, result.seconds);
      timings.end(name);
      trained.push(await trainedNetwork(network, result, signal));
    }
    return trained;
  } catch (error) {
    if (!costsOneTicker(error)) throw error;
    return stack.map(({ name }) => ({
      ticker: name,
      code: error.code,
      message: `${name}: ${error.message}`,
    }));
  } finally {
    for (const file of written.flatMap(({ files }) => files)) rmSync(file, { force: true });
  }
}
