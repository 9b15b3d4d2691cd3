import { rmSync } from "node:fs";
import type { Report } from "../../contract/api/job-events.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import { readNpy } from "../../engine/npy.ts";
import type { StackProgress, TrainNetworkTask, TrainResult } from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { isConstant } from "../../evaluate/statistics.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import type { FitTimings } from "../shared/timings.ts";
import type { PlannedNetwork, TrainedTicker, WrittenTask } from "./planned-network.ts";
import type { EpochCount } from "./train-networks.ts";

/** What networks are trained with. */
export interface TrainOptions {
  readonly pool: EnginePool;
  /** As the engine resolved it. */
  readonly device: string;
  /** What a network that is trained alone may use. */
  readonly threads: number;
  /** The most that a network trains. */
  readonly epochs: number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings: FitTimings;
}

/** How one network came to be, as the output tells it. */
export type TrainingRecord = Omit<TrainResult, "predictions" | "seconds">;

/** A network that was trained, or the failure of its ticker. */
export type Trained =
  | { readonly tickers: readonly TrainedTicker[]; readonly record: TrainingRecord }
  | Failure;

/** Codes of errors that cost one ticker and not the job; a joint network is the job. */
const TICKER_CODES = new Set(["fit_failed", "engine_crashed", "diverged", "constant_target"]);

export function costsOneTicker(error: unknown): error is MucastError {
  return error instanceof MucastError && TICKER_CODES.has(error.code);
}

/** What the engine gave for a network. @throws the reason of `signal`. */
export async function trainedNetwork(
  network: PlannedNetwork,
  result: TrainResult,
  signal: AbortSignal,
): Promise<Exclude<Trained, Failure>> {
  const tickers = await inTurns(network.forecasts(readNpy(result.predictions)), signal);
  return { tickers: tickers.map((ticker) => withConstantWarning(ticker, result)), record: recordOf(result) };
}

function recordOf({ epochs, best_epoch, parameters, prediction_scale }: TrainResult): TrainingRecord {
  const scale = prediction_scale === undefined ? {} : { prediction_scale };
  return { epochs, best_epoch, parameters, ...scale };
}

function withConstantWarning(trained: TrainedTicker, { prediction_scale }: TrainResult): TrainedTicker {
  const { ticker, score, warnings } = trained;
  if (score.predicted.length < 2 || !isConstant(score.predicted)) return trained;
  const constant = constantWarning(ticker, { value: score.predicted[0]!, prediction_scale });
  return { ...trained, warnings: [...warnings, constant] };
}

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
