import { MucastError } from "../contract/errors.ts";
import type { Report } from "../contract/events.ts";
import type { Failure } from "../contract/output-blob.ts";
import { inTurns } from "../contract/turns.ts";
import type { TrainResult } from "../engine/network-protocol.ts";
import { readNpy } from "../engine/npy.ts";
import type { EnginePool } from "../engine/pool.ts";
import { isConstant } from "../evaluate/statistics.ts";
import { constantWarning } from "./constant-warning.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";
import type { FitTimings } from "./timings.ts";

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
