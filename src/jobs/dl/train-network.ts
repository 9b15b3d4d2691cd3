import { rmSync } from "node:fs";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import type { Report } from "../../contract/output/job-events.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { readNpy } from "../../engine/npy.ts";
import type {
  EpochProgress,
  StackProgress,
  TrainNetworkTask,
  TrainResult,
} from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { isConstant } from "../../evaluate/statistics.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import type { FitTimings } from "../shared/timings.ts";
import type { EpochCount } from "./epoch-count.ts";
import type { PlannedNetwork, TrainedTicker, WrittenTask } from "./planned-network.ts";

export interface TrainOptions {
  readonly pool: EnginePool;
  /** As the engine resolved it. */
  readonly device: string;
  /** Threads that a joint network may use. */
  readonly threads: number;
  /** Stacks at a time. */
  readonly gpus: number;
  /** The most that a network trains. */
  readonly epochs: number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings: FitTimings;
}

/** How one network was trained, as the output records it. */
export type TrainingRecord = Omit<TrainResult, "predictions" | "seconds">;

/** A network that was trained. */
interface TrainedNetwork {
  readonly tickers: readonly TrainedTicker[];
  readonly record: TrainingRecord;
}

/** The name of a network, and what was trained or why its ticker failed. */
export type NamedResult = readonly [name: string, result: TrainedNetwork | Failure];

/**
 * Trains one network in a task of its own.
 * @throws MucastError of the engine where it is not about one ticker, or where the network is a joint one.
 */
export async function trainNetwork(
  network: PlannedNetwork,
  { pool, device, threads, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<NamedResult> {
  const { name } = network;
  const { task, files } = await network.task({ device, threads, signal });
  try {
    const onProgress = (progress: EpochProgress) => count.epoch(name, progress);
    const result = await pool.run(task, { signal, onProgress });
    timings.add(name, result.seconds);
    timings.finish(name);
    const trained = await trainedNetwork(network, result, signal);
    count.finish(name);
    return [name, trained];
  } catch (error) {
    if (network.joint || !costsOneTicker(error)) throw error;
    count.finish(name);
    return [name, { ticker: name, code: error.code, message: error.message }];
  } finally {
    removeFiles(files);
  }
}

/** Networks of one task. A worker that dies costs every network of its task, and no other. */
export const LARGEST_STACK = 64;

/**
 * Trains networks of single tickers in stacks, as many at a time as there are GPUs, and no larger than gives each GPU one.
 * @throws MucastError of the engine where it is not about one ticker.
 */
export async function trainStacks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
  count: EpochCount,
): Promise<readonly NamedResult[]> {
  const size = Math.min(LARGEST_STACK, Math.ceil(networks.length / options.gpus));
  const done: NamedResult[] = [];
  let first = 0;
  const trainNext = async (signal: AbortSignal): Promise<void> => {
    while (first < networks.length) {
      const stack = networks.slice(first, first + size);
      first += size;
      const results = await trainStack(stack, { ...options, signal }, count);
      for (const [name] of results) count.finish(name);
      done.push(...results);
    }
  };
  await runEach(options.signal, async (start, signal) => {
    for (let gpu = 0; gpu < options.gpus; gpu++) start(trainNext(signal));
  });
  return done;
}

async function trainStack(
  stack: readonly PlannedNetwork[],
  { pool, device, threads, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<readonly NamedResult[]> {
  const failed = (name: string, { code, message }: Pick<Failure, "code" | "message">): NamedResult => [
    name,
    { ticker: name, code, message: `${name}: ${message}` },
  ];
  const written: WrittenTask[] = [];
  for (const network of stack) written.push(await network.task({ device, threads, signal }));
  const networks = written.map(({ task }) => task as TrainNetworkTask);
  try {
    const onProgress = (progress: StackProgress) => count.epoch(progress.ticker, progress);
    const { results } = await pool.run({ task: "train_stack", networks, device }, { signal, onProgress });
    const done: NamedResult[] = [];
    for (const [index, network] of stack.entries()) {
      const { name } = network;
      const result = results[index]!;
      if ("code" in result) {
        done.push(failed(name, result));
        continue;
      }
      timings.add(name, result.seconds);
      timings.finish(name);
      done.push([name, await trainedNetwork(network, result, signal)]);
    }
    return done;
  } catch (error) {
    if (!costsOneTicker(error)) throw error;
    return stack.map(({ name }) => failed(name, error));
  } finally {
    removeFiles(written.flatMap(({ files }) => files));
  }
}

/** Codes of errors that cost one ticker and not the job; with a joint network the ticker's error is the job's. */
const TICKER_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "fit_failed",
  "engine_crashed",
  "diverged",
  "constant_target",
]);

function costsOneTicker(error: unknown): error is MucastError {
  return error instanceof MucastError && TICKER_CODES.has(error.code);
}

function removeFiles(files: readonly string[]): void {
  for (const file of files) rmSync(file, { force: true });
}

/** Reads the forecasts of a trained network. @throws the reason of `signal`. */
async function trainedNetwork(
  network: PlannedNetwork,
  result: TrainResult,
  signal: AbortSignal,
): Promise<TrainedNetwork> {
  const tickers = await inTurns(network.forecasts(readNpy(result.predictions)), signal);
  return { tickers: tickers.map((ticker) => withConstantWarning(ticker, result)), record: recordOf(result) };
}

function recordOf(result: TrainResult): TrainingRecord {
  const { epochs, best_epoch, zero_validation_loss, parameters, prediction_scale } = result;
  const scale = prediction_scale === undefined ? {} : { prediction_scale };
  return { epochs, best_epoch, zero_validation_loss, parameters, ...scale };
}

function withConstantWarning(trained: TrainedTicker, { prediction_scale }: TrainResult): TrainedTicker {
  const { ticker, score, warnings } = trained;
  if (score.predicted.length < 2 || !isConstant(score.predicted)) return trained;
  const constant = constantWarning(ticker, { value: score.predicted[0]!, prediction_scale });
  return { ...trained, warnings: [...warnings, constant] };
}
