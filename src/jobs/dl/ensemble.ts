/** The members of an ensemble: their tasks, the mean of their forecasts, and the records of their training. */
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { readNpy } from "../../engine/npy.ts";
import type { TrainJointTask, TrainNetworkTask, TrainResult } from "../../engine/pool/network-protocol.ts";
import { mean, sampleDeviation } from "../../evaluate/statistics.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import type { WrittenNetwork } from "./network-plan.ts";
import type { BlockForecasts } from "./trained-ticker.ts";

/** How one network was trained, as the output records it. */
type NetworkRecord = Omit<TrainResult, "predictions" | "seconds">;

/** How a network was trained: member 0's record, with the records of its ensemble's other members, from 1. */
export type TrainingRecord = NetworkRecord & {
  readonly members?: readonly (Omit<NetworkRecord, "parameters"> & { readonly member: number })[];
};

/** The forecasts of a ticker in one block, by a trained network. */
export interface TrainedBlock extends BlockForecasts {
  /** For an ensemble, the standard deviation (ddof 1) of its members' forecasts of the last score row, log-return. */
  readonly spread?: number;
  /** Of the network, if it has one: the factor that turned raw predictions into returns. */
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
export function memberTask<T extends TrainNetworkTask | TrainJointTask>(
  first: T,
  name: string,
  member: number,
  ensemble: number,
): T {
  if (ensemble === 1) return first;
  const predictions = { ref: first.predictions.ref.replace(/(?=\.npy$)/, `-${member}`) };
  return { ...first, label: memberName(name, member, ensemble), member, predictions };
}

/**
 * Reads the predictions of all members and averages them, one member's in memory at a time: summed in their order, then divided once.
 * NaN if a ticker has no window. For an ensemble, `spread` is the deviation of the members at each ticker's last score row.
 * @param results of members 0, 1, ...
 */
export function meanForecasts(network: WrittenNetwork, results: readonly TrainResult[]): TrainedBlock[] {
  const [first, ...further] = results as [TrainResult, ...TrainResult[]];
  const whole = readNpy(first.predictions);
  const last = network.latest.map((at) => [whole[at]!]);
  for (const { predictions } of further) {
    const own = readNpy(predictions);
    for (let i = 0; i < whole.length; i++) whole[i]! += own[i]!;
    for (const [j, at] of network.latest.entries()) last[j]!.push(own[at]!);
  }
  if (further.length > 0) for (let i = 0; i < whole.length; i++) whole[i]! /= results.length;
  const isCommon = results.every(({ prediction_scale }) => prediction_scale === first.prediction_scale);
  return network.collect(whole).map((ticker, j) => ({
    ...ticker,
    predictionScale: isCommon ? first.prediction_scale : undefined,
    ...(further.length === 0
      ? {}
      : { spread: ticker.predictionUnit * sampleDeviation(Float64Array.from(last[j]!)) }),
  }));
}

/** @param results of members 0, 1, ... */
export function recordTraining(results: readonly TrainResult[]): TrainingRecord {
  const [first, ...members] = results.map(
    ({ epochs, best_epoch, zero_validation_loss, parameters, prediction_scale }): NetworkRecord => ({
      ...{ epochs, best_epoch, zero_validation_loss, parameters },
      ...(prediction_scale === undefined ? {} : { prediction_scale }),
    }),
  ) as [NetworkRecord, ...NetworkRecord[]];
  if (members.length === 0) return first;
  return {
    ...first,
    members: members.map(({ parameters: _, ...record }, i) => ({ member: i + 1, ...record })),
  };
}

type Training = NonNullable<NonNullable<OutputBlob["refits"]>["training"]>[string];

/**
 * The entry of a network in the output's `refits.training`: for each block the means over its members, null without its own network.
 * @param records by block.
 */
export function recordBlocks(records: ReadonlyMap<number, TrainingRecord>, blocks: number) {
  const byBlock = Array.from({ length: blocks }, (_, b) => {
    const record = records.get(b);
    return record === undefined ? undefined : [record, ...(record.members ?? [])];
  });
  type Member = Omit<NetworkRecord, "parameters">;
  const meansOf = (value: (member: Member) => number): (number | null)[] =>
    byBlock.map((members) => (members === undefined ? null : mean(Float64Array.from(members, value))));
  const best = ({ epochs, best_epoch }: Member) => epochs[best_epoch - 1]!;
  const ics = meansOf((member) => best(member).validation_ic ?? Number.NaN);
  return {
    epochs: meansOf(({ epochs }) => epochs.length),
    best_epochs: meansOf(({ best_epoch }) => best_epoch),
    validation_losses: meansOf((member) => best(member).validation_loss),
    zero_validation_losses: meansOf(({ zero_validation_loss }) => zero_validation_loss),
    ...(ics.some((ic) => ic !== null && !Number.isNaN(ic)) ? { validation_ics: ics } : {}),
  } satisfies Readonly<Record<keyof Omit<Training, "validation_ics">, OrderedJson>>;
}
