import { rmSync } from "node:fs";
import { compareCodePoints } from "../contract/code-points.ts";
import { MucastError } from "../contract/errors.ts";
import type { Report } from "../contract/events.ts";
import type { Failure } from "../contract/output-blob.ts";
import type { EpochProgress, TrainResult } from "../engine/network-protocol.ts";
import { readNpy } from "../engine/npy.ts";
import type { EnginePool } from "../engine/pool.ts";
import { isConstant } from "../evaluate/statistics.ts";
import { constantWarning } from "./constant-warning.ts";
import { EpochCount } from "./epoch-count.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";

/** How one network came to be, as the output tells it. */
export type TrainingRecord = Omit<TrainResult, "predictions" | "seconds">;

export interface TrainOutcome {
  /** Ascending by code point. */
  readonly trained: readonly TrainedTicker[];
  /** By ticker, or `portfolio`; ascending by code point. */
  readonly training: ReadonlyMap<string, TrainingRecord>;
  readonly failures: readonly Failure[];
}

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
}

/** Codes of errors that cost one ticker and not the job; a joint network is the job. */
const TICKER_CODES = new Set(["fit_failed", "engine_crashed", "diverged", "constant_target"]);

/** A network that was trained, or the failure of its ticker. */
type Trained = { readonly tickers: readonly TrainedTicker[]; readonly record: TrainingRecord } | Failure;

/**
 * Trains every network, as many at a time as the pool has workers, and one at a time on a GPU. What a network learns
 * does not depend on the others, nor on when it is trained.
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
  const turns = options.device === "cpu" ? queue.map((network) => [network]) : [queue];
  const running = turns.map(async (turn) => {
    const done: [string, Trained][] = [];
    for (const network of turn) done.push([network.name, await train(network, inner, count)]);
    return done;
  });
  for (const turn of running) turn.catch((error: unknown) => stop.abort(error));
  try {
    return sortOutcome((await Promise.all(running)).flat());
  } finally {
    await Promise.allSettled(running);
  }
}

async function train(
  network: PlannedNetwork,
  { pool, device, threads, signal }: TrainOptions,
  count: EpochCount,
): Promise<Trained> {
  const { name } = network;
  const { task, files } = network.task({ device, threads });
  try {
    const onProgress = (progress: EpochProgress) => count.epoch(name, progress);
    const result = await pool.run(task, { signal, onProgress });
    const tickers = network.forecasts(readNpy(result.predictions));
    count.end(name);
    return {
      tickers: tickers.map((ticker) => withConstantWarning(ticker, result)),
      record: recordOf(result),
    };
  } catch (error) {
    if (network.joint || !(error instanceof MucastError && TICKER_CODES.has(error.code))) throw error;
    count.end(name);
    return { ticker: name, code: error.code, message: error.message };
  } finally {
    for (const file of files) rmSync(file, { force: true });
  }
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
