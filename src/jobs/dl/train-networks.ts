/** Trains the networks of a plan: all blocks and all members of ensembles, as many at a time as there are workers or GPUs. */
import { rmSync } from "node:fs";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { TrainJointTask, TrainNetworkTask, TrainResult } from "../../engine/pool/network-protocol.ts";
import type { FitRun } from "../plan.ts";
import { runEach } from "../shared/run-concurrently.ts";
import {
  meanForecasts,
  memberName,
  memberTask,
  recordTraining,
  type TrainedBlock,
  type TrainingRecord,
} from "./ensemble.ts";
import { EpochCount } from "./epoch-count.ts";
import type { Means, NetworkSeries, WrittenNetwork } from "./network-plan.ts";

export interface TrainOptions extends Pick<FitRun, "pool" | "signal" | "report" | "timings">, Means {
  /** Tasks of one thread at a time. */
  readonly slots: number;
  /** Stacks, or members of a joint network, at a time on GPUs. */
  readonly gpus: number;
  /** The maximum that a network trains. */
  readonly epochs: number;
  /** Members of each network; 1 without ensembles. */
  readonly ensemble: number;
}

/**
 * Networks of one task. A worker that dies twice fails every network that has a member in its task, even an ensemble whose other
 * members are in another stack.
 */
export const MAX_STACK_SIZE = 64;

/** A network to train. */
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
 * @returns the networks by ascending block. Those after a failed first network may be missing.
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
  const hasFailed = ({ result, ...network }: EndedNetwork) =>
    !isFirst(network) && result instanceof MucastError && isOfLearnedRows(result);
  const again = ended.filter(hasFailed).flatMap(({ series: own, block, result }): Network[] => {
    const isGood = (one: EndedNetwork) =>
      one.series === own && one.block < block && !(one.result instanceof MucastError);
    const last = ended.findLast(isGood);
    return last === undefined
      ? []
      : [{ series: own, block, learned: last.block, error: result as MucastError }];
  });
  const repeated = await trainAll(again, options, count);
  options.timings.finishAll();
  return [...ended.filter((network) => !hasFailed(network)), ...repeated].sort((a, b) => a.block - b.block);
}

/** Whether it is the first network of its series, without which there are no later ones. */
function isFirst({ series, block }: Network): boolean {
  return block === series.blocks[0];
}

/** @returns those that were started, by ascending block. @param lanes for tests. */
export async function trainAll(
  networks: readonly Network[],
  options: TrainOptions,
  count: EpochCount,
  { lanes, stack }: Lanes = lanesFor(networks, options),
): Promise<readonly EndedNetwork[]> {
  // The first network of each name comes first, because the later ones depend on it. Then the longest, so that no long one
  // remains for a single worker at the end.
  const queue = networks
    .map((network) => ({ ...network, seconds: network.series.seconds(network.learned) }))
    .sort(
      (a, b) =>
        Number(isFirst(b)) - Number(isFirst(a)) ||
        b.seconds - a.seconds ||
        compareCodePoints(a.series.name, b.series.name) ||
        a.block - b.block,
    )
    .map(({ seconds: _, ...network }) => new Training(network, options.ensemble));
  const waiting = membersInTurn(queue, stack ?? 1, count);
  await runEach(options.signal, async (start, signal) => {
    const lane = async () => {
      for (const members of waiting)
        await trainTogether(members, stack !== undefined, { ...options, signal }, count);
    };
    for (let i = 0; i < Math.min(lanes, queue.length * options.ensemble); i++) start(lane());
  });
  return queue
    .flatMap(({ network, result }) => (result === undefined ? [] : [{ ...network, result }]))
    .sort((a, b) => a.block - b.block);
}

/** How many tasks run or wait in the pool at a time, and the members of each; without `stack`, one that is trained alone. */
interface Lanes {
  readonly lanes: number;
  readonly stack?: number;
}

/**
 * A joint network holds the panel of all tickers, so there are
 * only as many as fill the cores with their threads, and on GPUs one on each. Other networks have one task per ticker, and at least one
 * waiting for each slot; on GPUs they are stacked, so that each GPU gets one stack.
 */
function lanesFor(
  networks: readonly Network[],
  { device, slots, threads, gpus, ensemble }: TrainOptions,
): Lanes {
  const isOnCpu = device === "cpu";
  if (networks.some(({ series }) => series.joint))
    return { lanes: isOnCpu ? Math.max(1, Math.floor(slots / threads)) : gpus };
  if (!isOnCpu)
    return { lanes: gpus, stack: Math.min(MAX_STACK_SIZE, Math.ceil((networks.length * ensemble) / gpus)) };
  return { lanes: Math.max(new Set(networks.map(({ series }) => series)).size, 2 * slots) };
}

/**
 * The members of one network, on matrices that are written when the first one starts and removed when the last one ends. They start in
 * order, and none starts once one has failed; running ones continue, so that the first failed one is the same whichever ends first.
 */
class Training {
  readonly network: Network;
  readonly ensemble: number;
  /** Of all members, or the error of the first failed one, once none is running any more. */
  result: TrainedNetwork | MucastError | undefined;
  #written: WrittenNetwork | undefined;
  readonly #files = new Set<string>();
  /** The number of members that have started and not ended. */
  running = 0;
  readonly #results: TrainResult[] = [];
  readonly #errors: MucastError[] = [];

  constructor(network: Network, ensemble: number) {
    this.network = network;
    this.ensemble = ensemble;
  }

  get hasFailed(): boolean {
    return this.#errors.length > 0;
  }

  task(member: number, means: Means): TrainNetworkTask | TrainJointTask {
    const { series, learned, block } = this.network;
    this.#written ??= series.write(learned, block, means);
    const task = memberTask(this.#written.task, series.name, member, this.ensemble);
    for (const { ref } of [task.ends, task.labels, task.predictions]) this.#files.add(ref);
    return task;
  }

  /** @throws MucastError if predictions cannot be read. */
  end(member: number, result: TrainResult | MucastError): void {
    if (result instanceof MucastError) this.#errors[member] = result;
    else this.#results[member] = result;
    this.running--;
    const ended = this.#results.filter(Boolean);
    if (this.running > 0 || (ended.length < this.ensemble && !this.hasFailed)) return;
    this.result = this.#errors.find(Boolean) ?? {
      tickers: meanForecasts(this.#written!, ended),
      lost: this.#written!.lost,
      record: recordTraining(ended),
    };
    for (const file of this.#files) rmSync(file, { force: true });
    this.#written = undefined;
  }
}

/** A member of a network that has started. */
interface Member {
  readonly of: Training;
  readonly member: number;
}

type ReadyMember = Member & { readonly task: TrainNetworkTask | TrainJointTask };

/**
 * Starts every member of every network in turn, `size` together, but not those of networks whose series has failed with its first one.
 */
function* membersInTurn(queue: readonly Training[], size: number, count: EpochCount): Generator<Member[]> {
  const first = new Map(queue.filter(({ network }) => isFirst(network)).map((of) => [of.network.series, of]));
  let members: Member[] = [];
  for (const of of queue) {
    if (!isFirst(of.network) && first.get(of.network.series)?.hasFailed) {
      count.finishAll(of.network);
      continue;
    }
    for (let member = 0; member < of.ensemble && !of.hasFailed; member++) {
      of.running++;
      if (members.push({ of, member }) < size) continue;
      yield members;
      members = [];
    }
  }
  if (members.length > 0) yield members;
}

/** Trains members in one task. @throws MucastError of the engine if it is not about one network. */
async function trainTogether(
  members: readonly Member[],
  isStacked: boolean,
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const ready: ReadyMember[] = [];
  for (const one of members) {
    try {
      ready.push({ ...one, task: one.of.task(one.member, options) });
    } catch (error) {
      endMember(one, networkError(error), options, count);
    }
  }
  if (ready.length === 0) return;
  const { pool, signal } = options;
  const { of, member, task: alone } = ready[0]!;
  const results = isStacked
    ? await trainStack(ready, options, count)
    : [
        await pool
          .run(alone, { signal, onProgress: (progress) => count.epoch(of.network, member, progress) })
          .catch(networkError),
      ];
  for (const [i, one] of ready.entries()) endMember(one, results[i]!, options, count);
}

async function trainStack(
  stack: readonly ReadyMember[],
  { pool, device, signal }: TrainOptions,
  count: EpochCount,
): Promise<readonly (TrainResult | MucastError)[]> {
  const networks = stack.map(({ of, task }) => ({ ...(task as TrainNetworkTask), block: of.network.block }));
  const answer = await pool
    .run(
      { task: "train_stack", networks, device },
      {
        signal,
        onProgress({ ticker, member, block = 0, ...progress }) {
          const isIt = ({ of: { network }, member: own }: Member) =>
            network.series.name === ticker && network.block === block && own === member;
          const one = stack.find(isIt);
          if (one !== undefined) count.epoch(one.of.network, member, progress);
        },
      },
    )
    .catch(networkError);
  return stack.map(({ of, member }, i) => {
    const result = answer instanceof MucastError ? answer : answer.results[i]!;
    if (!("code" in result)) return result;
    const name = memberName(of.network.series.name, member, of.ensemble);
    return new MucastError(result.code as ErrorCode, `${name}: ${result.message}`, result.data);
  });
}

/** Ends a member, and reports it; members that never start count as done once their network has failed. */
function endMember(
  { of, member }: Member,
  result: TrainResult | MucastError,
  { timings }: TrainOptions,
  count: EpochCount,
): void {
  const { series } = of.network;
  if (!(result instanceof MucastError)) timings.add(series.name, result.seconds);
  of.end(member, result);
  if (of.result instanceof MucastError && series.joint && isFirst(of.network)) throw of.result;
  count.finish(of.network, member);
  if (of.result === undefined) return;
  timings.finish(series.name);
  if (of.hasFailed) count.finishAll(of.network);
}

/** Codes of errors that affect one network and not the job; a joint network's own may still be the job's. */
const NETWORK_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(["fit_failed", "engine_crashed", "diverged"] as const),
  ...(["constant_target", "insufficient_history"] as const),
]);

/** An error that affects only a network. @throws any other. */
function networkError(error: unknown): MucastError {
  if (error instanceof MucastError && NETWORK_CODES.has(error.code)) return error;
  throw error;
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
