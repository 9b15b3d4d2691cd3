import { rmSync } from "node:fs";
import { readNpy } from "../../engine/npy.ts";
import type { TrainJointTask, TrainNetworkTask, TrainResult } from "../../engine/pool/network-protocol.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import {
  forecastsOf,
  type PlannedNetwork,
  type TickerForecasts,
  type TrainedTicker,
} from "./planned-network.ts";

/** How one network was trained, as the output records it. */
type NetworkRecord = Omit<TrainResult, "predictions" | "seconds">;

/** The record of a further network of an ensemble. */
type MemberRecord = Omit<NetworkRecord, "parameters"> & {
  /** From 1: member 0 is the record that contains them. */
  readonly member: number;
};

/** How a network was trained: member 0's record, with the records of its ensemble's other members. */
export type TrainingRecord = NetworkRecord & {
  /** Absent for a single network. */
  readonly members?: readonly MemberRecord[];
};

/** A trained ensemble or single network. */
export interface TrainedNetwork {
  /** From a ticker's first network, with all facts about the ticker; from later ones, only the forecasts. */
  readonly tickers: readonly (TrainedTicker | TickerForecasts)[];
  readonly record: TrainingRecord;
  /** The record's `prediction_scale`, for a single network or an ensemble whose members all have one. */
  readonly predictionScale: number | undefined;
}

/** What messages call a member; a single network goes by its own name. */
export function memberName(name: string, member: number, ensemble: number): string {
  return ensemble === 1 ? name : `${name} member ${member}`;
}

/**
 * The task of a member, on the matrices of member 0's task. It has its own seeds and its own file of predictions.
 * @param first the task of member 0, which is also the task of a single network.
 * @param name of the network; the label starts with it.
 */
export function memberTask(
  first: TrainNetworkTask | TrainJointTask,
  name: string,
  member: number,
  ensemble: number,
): TrainNetworkTask | TrainJointTask {
  if (ensemble === 1) return first;
  const predictions = predictionsOf(first, member, ensemble);
  return { ...first, label: memberName(name, member, ensemble), member, predictions };
}

/** The file of a member's predictions. @param first the task of member 0. */
export function predictionsOf(
  { predictions }: Pick<TrainNetworkTask, "predictions">,
  member: number,
  ensemble: number,
): { readonly ref: string } {
  return ensemble === 1 ? predictions : { ref: predictions.ref.replace(/(?=\.npy$)/, `-${member}`) };
}

/**
 * Reads the forecasts of all members of a trained network and averages them.
 * @param results of members 0, 1, ...
 */
export function trainedNetwork(network: PlannedNetwork, results: readonly TrainResult[]): TrainedNetwork {
  const [first, ...further] = results;
  const { mean, spreads } = meanForecast(results, network);
  const tickers = network.forecasts(mean);
  return {
    tickers: tickers.map((ticker, i) => ({
      // Keeping those of all blocks would take too much memory.
      ...(network.begins.has(ticker.ticker) ? ticker : forecastsOf(ticker)),
      ...(spreads === undefined ? {} : { spread: ticker.predictionUnit * spreads[i]! }),
    })),
    record: {
      ...recordOf(first!),
      ...(further.length === 0 ? {} : { members: further.map(memberRecord) }),
    },
    predictionScale: commonScale(results),
  };
}

/**
 * The mean of the predictions, element by element: summed in the order of the members, then divided once. NaN if a ticker has no
 * window. One member's predictions are in memory at a time.
 * @returns for an ensemble also `spreads`: the standard deviation (ddof 1) of the members at each ticker's last score row, log-return.
 */
function meanForecast(
  results: readonly Pick<TrainResult, "predictions">[],
  network: Pick<PlannedNetwork, "latest">,
): { readonly mean: Float64Array; readonly spreads?: readonly number[] } {
  const [first, ...further] = results;
  const mean = readNpy(first!.predictions);
  if (further.length === 0) return { mean };
  const latest = network.latest();
  const told = latest.map((at) => [mean[at]!]);
  for (const { predictions } of further) {
    const own = readNpy(predictions);
    for (let i = 0; i < mean.length; i++) mean[i]! += own[i]!;
    for (const [j, at] of latest.entries()) told[j]!.push(own[at]!);
  }
  for (let i = 0; i < mean.length; i++) mean[i]! /= results.length;
  return { mean, spreads: told.map((values) => sampleDeviation(Float64Array.from(values))) };
}

function recordOf(result: TrainResult): NetworkRecord {
  const { epochs, best_epoch, zero_validation_loss, parameters, prediction_scale } = result;
  const scale = prediction_scale === undefined ? {} : { prediction_scale };
  return { epochs, best_epoch, zero_validation_loss, parameters, ...scale };
}

function memberRecord(result: TrainResult, index: number): MemberRecord {
  const { parameters: _, ...record } = recordOf(result);
  return { member: index + 1, ...record };
}

function commonScale(results: readonly TrainResult[]): number | undefined {
  const scales = new Set(results.map(({ prediction_scale }) => prediction_scale));
  return scales.size === 1 ? results[0]!.prediction_scale : undefined;
}

/** Removes files of the work folder; ignores one that a failed task has not written. */
export function removeFiles(files: readonly string[]): void {
  for (const file of files) rmSync(file, { force: true });
}
