/** Trains the networks of a plan: all blocks and all members of ensembles, as many at a time as there are workers or GPUs. */
import { rmSync } from "node:fs";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { readNpy } from "../../engine/npy.ts";
import type {
  EpochProgress,
  StackProgress,
  TrainJointTask,
  TrainNetworkTask,
  TrainResult,
} from "../../engine/pool/network-protocol.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import type { FitRun } from "../plan.ts";
import { runEach } from "../shared/run-concurrently.ts";
import type { BlockForecasts } from "./collect-networks.ts";
import type { Means, NetworkSeries, WrittenNetwork } from "./network-plan.ts";

export interface TrainOptions extends Pick<FitRun, "pool" | "signal" | "report" | "timings">, Means {
  readonly slots: number;
  /** Stacks, or members of a joint network, at a time on GPUs. */
  readonly gpus: number;
  /** The maximum that a network trains. */
  readonly epochs: number;
  /** Members of each network; 1 without ensembles. */
  readonly ensemble: number;
}

/** A worker that dies twice fails every network that has a member in its task. */
export const MAX_STACK_SIZE = 64;

export interface Network {
  readonly series: NetworkSeries;
  /** The block of score rows that it forecasts. */
  readonly block: number;
  /** The block whose labels it learns: an earlier one, once more, if the network of its own block failed for the reason `error`. */
  readonly learned: number;
  readonly error?: MucastError;
}

/** A network that has ended, with its forecasts or the error of its first failed member. */
export interface EndedNetwork extends Network {
  readonly result: TrainedNetwork | MucastError;
}

export interface TrainedNetwork {
  readonly tickers: readonly TrainedBlock[];
  readonly lost: readonly MucastError[];
  readonly record: TrainingRecord;
}

/**
 * Trains every network. If that of a later block cannot learn from its rows, the last good one of its series is trained once more and
 * forecasts the block. What a network learns depends neither on the others nor on when it is trained.
 * @returns the networks by ascending block.
 * @throws MucastError of the engine if it is not about one ticker, or if the network is the joint one of the first block.
 */
export async function trainNetworks(
  series: readonly NetworkSeries[],
  options: TrainOptions,
): Promise<readonly EndedNetwork[]> {
  const networks = series.flatMap((own) =>
    own.blocks.map((block): Network => ({ series: own, block, learned: block })),
  );
  const count = new EpochCount(networks.length, options);
  const ended = await trainAll(networks, options, count);
  const hasFailed = (network: EndedNetwork) =>
    !isFirst(network) && network.result instanceof MucastError && isOfLearnedRows(network.result);
  const again = ended.filter(hasFailed).flatMap(({ series: own, block, result }): Network[] => {
    const last = ended.findLast(
      (one) => one.series === own && one.block < block && !(one.result instanceof MucastError),
    );
    return last ? [{ series: own, block, learned: last.block, error: result as MucastError }] : [];
  });
  const repeated = await trainAll(again, options, count);
  options.timings.finishAll();
  return [...ended.filter((network) => !hasFailed(network)), ...repeated].sort((a, b) => a.block - b.block);
}

function isFirst({ series, block }: Network): boolean {
  return block === series.blocks[0];
}

/**
 * Whether a network failed because of the rows that it learned from, which are the same on every machine. A network that trains but whose
 * forecasts are not finite does not count: which network forecasts a row must not depend on later rows of its block.
 */
function isOfLearnedRows({ code, data }: MucastError): boolean {
  return (
    code === "constant_target" ||
    code === "insufficient_history" ||
    (code === "diverged" && data.epoch !== undefined)
  );
}

/** @returns the networks by ascending block. */
async function trainAll(
  networks: readonly Network[],
  options: TrainOptions,
  count: EpochCount,
): Promise<readonly EndedNetwork[]> {
  const { lanes, stack } = lanesFor(networks, options);
  // The first network of each series, so that its failure is known early; then the longest, so that none remains for a single worker at the
  // end.
  const trainings = networks
    .map((network) => ({ ...network, seconds: network.series.seconds(network.learned) }))
    .sort(
      (a, b) =>
        Number(isFirst(b)) - Number(isFirst(a)) ||
        b.seconds - a.seconds ||
        compareCodePoints(a.series.name, b.series.name) ||
        a.block - b.block,
    )
    .map(({ seconds: _, ...network }) => new Training(network, options.ensemble));
  const members = trainings.flatMap((of) =>
    Array.from({ length: options.ensemble }, (_, member) => ({ of, member })),
  );
  let next = 0;
  await runEach(options.signal, async (start, signal) => {
    const lane = async () => {
      while (next < members.length && !signal.aborted) {
        const task = members.slice(next, next + (stack ?? 1));
        next += task.length;
        await trainTogether(task, stack !== undefined, { ...options, signal }, count);
      }
    };
    for (let i = 0; i < Math.min(lanes, members.length); i++) start(lane());
  });
  return trainings
    .map(({ network, result }) => ({ ...network, result: result! }))
    .sort((a, b) => a.block - b.block);
}

/**
 * How many tasks run or wait in the pool at a time, and the members of each; without `stack`, one that is trained alone. A joint network
 * holds the panel of all tickers, so there are only as many as fill the cores with their threads, and on GPUs one on each. Of other networks,
 * one waits for each slot; on GPUs they are stacked, so that each GPU gets one stack.
 */
function lanesFor(
  networks: readonly Network[],
  { device, slots, threads, gpus, ensemble }: TrainOptions,
): { readonly lanes: number; readonly stack?: number } {
  const isJoint = networks.some(({ series }) => series.joint);
  if (device === "cpu") return { lanes: isJoint ? Math.max(1, Math.floor(slots / threads)) : 2 * slots };
  const stack = Math.min(MAX_STACK_SIZE, Math.ceil((networks.length * ensemble) / gpus));
  return isJoint ? { lanes: gpus } : { lanes: gpus, stack };
}

/** The members of one network, on matrices that are written when the first one starts and removed when the last one ends. */
class Training {
  readonly network: Network;
  readonly ensemble: number;
  /** Of all members, or the error of the first failed one, once all have ended. */
  result: TrainedNetwork | MucastError | undefined;
  #written: WrittenNetwork | undefined;
  readonly #files = new Set<string>();
  readonly #results: (TrainResult | MucastError)[] = [];
  #ended = 0;

  constructor(network: Network, ensemble: number) {
    this.network = network;
    this.ensemble = ensemble;
  }

  /** Of a member, on the matrices of all: it has its own seeds and its own file of predictions. */
  task(member: number, means: Means): TrainNetworkTask | TrainJointTask {
    const { series, learned, block } = this.network;
    this.#written ??= series.write(learned, block, means);
    const { task: first } = this.#written;
    const ref = first.predictions.ref.replace(/(?=\.npy$)/, this.ensemble === 1 ? "" : `-${member}`);
    for (const file of [first.ends.ref, first.labels.ref, ref]) this.#files.add(file);
    return { ...first, label: this.nameOf(member), member, predictions: { ref } };
  }

  /** What messages call a member; a single network goes by its own name. */
  nameOf(member: number): string {
    const { name } = this.network.series;
    return this.ensemble === 1 ? name : `${name} member ${member}`;
  }

  /** @throws MucastError if predictions cannot be read; of the first failed member of a joint network without which there is none. */
  end(member: number, result: TrainResult | MucastError): void {
    this.#results[member] = result;
    if (++this.#ended < this.ensemble) return;
    const error = this.#results.find((one) => one instanceof MucastError);
    if (error !== undefined && this.network.series.joint && isFirst(this.network)) throw error;
    const results = this.#results as TrainResult[];
    this.result = error ?? {
      tickers: averageForecasts(this.#written!, results),
      lost: this.#written!.lost,
      record: recordTraining(results),
    };
    for (const file of this.#files) rmSync(file, { force: true });
    this.#written = undefined;
  }
}

interface Member {
  readonly of: Training;
  readonly member: number;
}

type ReadyMember = Member & { readonly task: TrainNetworkTask | TrainJointTask };

/** Trains members in one task. @throws MucastError of the engine if it is not about one network. */
async function trainTogether(
  members: readonly Member[],
  isStacked: boolean,
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const { pool, signal, timings } = options;
  const end = ({ of, member }: Member, result: TrainResult | MucastError) => {
    const { name } = of.network.series;
    if (!(result instanceof MucastError)) timings.add(name, result.seconds);
    of.end(member, result);
    count.finish(of.network, member);
    if (of.result !== undefined) timings.finish(name);
  };
  const ready: ReadyMember[] = [];
  for (const one of members) {
    try {
      ready.push({ ...one, task: one.of.task(one.member, options) });
    } catch (error) {
      end(one, networkError(error));
    }
  }
  if (ready.length === 0) return;
  const { of, member, task } = ready[0]!;
  const onProgress = (progress: EpochProgress) => count.epoch(of.network, member, progress);
  const results = isStacked
    ? await trainStack(ready, options, count)
    : [await pool.run(task, { signal, onProgress }).catch(networkError)];
  for (const [i, one] of ready.entries()) end(one, results[i]!);
}

async function trainStack(
  stack: readonly ReadyMember[],
  { pool, device, signal }: TrainOptions,
  count: EpochCount,
): Promise<readonly (TrainResult | MucastError)[]> {
  const networks = stack.map(({ of, task }) => ({ ...(task as TrainNetworkTask), block: of.network.block }));
  const onProgress = ({ ticker, member, block = 0, ...progress }: StackProgress) => {
    const isIt = ({ of: { network }, member: own }: Member) =>
      network.series.name === ticker && network.block === block && own === member;
    const one = stack.find(isIt);
    if (one !== undefined) count.epoch(one.of.network, member, progress);
  };
  const answer = await pool
    .run({ task: "train_stack", networks, device }, { signal, onProgress })
    .catch(networkError);
  return stack.map(({ of, member }, i) => {
    const result = answer instanceof MucastError ? answer : answer.results[i]!;
    if (!("code" in result)) return result;
    const message = `${of.nameOf(member)}: ${result.message}`;
    return new MucastError(result.code as ErrorCode, message, result.data);
  });
}

/** Codes of errors that affect one network and not the job; a joint network's own may still be the job's. */
const NETWORK_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  ...(["fit_failed", "engine_crashed", "diverged"] as const),
  ...(["constant_target", "insufficient_history"] as const),
]);

function networkError(error: unknown): MucastError {
  if (error instanceof MucastError && NETWORK_CODES.has(error.code)) return error;
  throw error;
}

/** Reports how many epochs of all networks are done. An epoch that a second attempt repeats counts once. */
class EpochCount {
  readonly #options: Pick<TrainOptions, "epochs" | "ensemble" | "report">;
  readonly #total: number;
  readonly #done = new Map<string, number>();
  #sum = 0;

  constructor(networks: number, options: Pick<TrainOptions, "epochs" | "ensemble" | "report">) {
    this.#options = options;
    this.#total = networks * options.ensemble * options.epochs;
  }

  /** A member of a network has finished an epoch. An epoch of a later block is counted, but its losses are not reported. */
  epoch(network: Network, member: number, { epoch, train_loss, validation_loss }: EpochProgress): void {
    const more = this.#advance(network, member, epoch);
    const { name: ticker } = network.series;
    const place = this.#options.ensemble === 1 ? { ticker } : { ticker, member };
    if (network.block === 0) this.#progress({ ...place, epoch, train_loss, validation_loss });
    else if (more > 0) this.#progress();
  }

  /** A member is done or has failed. Epochs that early stopping saved count as done. */
  finish(network: Network, member: number): void {
    if (this.#advance(network, member, this.#options.epochs) > 0) this.#progress();
  }

  #advance({ series: { name }, block }: Network, member: number, epochs: number): number {
    const place = `${block} ${member} ${name}`;
    const before = this.#done.get(place) ?? 0;
    const more = Math.max(0, epochs - before);
    this.#done.set(place, before + more);
    this.#sum += more;
    return more;
  }

  #progress(
    epoch: Partial<EpochProgress> & { readonly ticker?: string; readonly member?: number } = {},
  ): void {
    this.#options.report({ kind: "progress", stage: "fit", done: this.#sum, total: this.#total, ...epoch });
  }
}

export type NetworkRecord = Omit<TrainResult, "predictions" | "seconds">;

/** How a network was trained: member 0's record, with the records of its ensemble's other members, from 1. */
export type TrainingRecord = NetworkRecord & {
  readonly members?: readonly (Omit<NetworkRecord, "parameters"> & { readonly member: number })[];
};

export interface TrainedBlock extends BlockForecasts {
  /** For an ensemble, the standard deviation (ddof 1) of its members' forecasts of the last score row, log-return. */
  readonly spread?: number;
  /** Of the network, if it has one: the factor that turned raw predictions into returns. */
  readonly predictionScale: number | undefined;
}

/** The mean of the members' predictions, one member's in memory at a time: summed in their order, then divided once. */
function averageForecasts(network: WrittenNetwork, results: readonly TrainResult[]): TrainedBlock[] {
  const [first, ...further] = results as [TrainResult, ...TrainResult[]];
  const whole = readNpy(first.predictions);
  const last = network.latest.map((at) => [whole[at]!]);
  for (const { predictions } of further) {
    const own = readNpy(predictions);
    for (let i = 0; i < whole.length; i++) whole[i]! += own[i]!;
    for (const [j, at] of network.latest.entries()) last[j]!.push(own[at]!);
  }
  if (further.length > 0) for (let i = 0; i < whole.length; i++) whole[i]! /= results.length;
  const { prediction_scale: scale } = first;
  const isCommon = further.every(({ prediction_scale }) => prediction_scale === scale);
  return network.collect(whole).map((ticker, j) => {
    const spread = ticker.predictionUnit * sampleDeviation(Float64Array.from(last[j]!));
    return {
      ...ticker,
      predictionScale: isCommon ? scale : undefined,
      ...(further.length === 0 ? {} : { spread }),
    };
  });
}

function recordTraining(results: readonly TrainResult[]): TrainingRecord {
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
