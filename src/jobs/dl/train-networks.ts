import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Report } from "../../contract/output/job-events.ts";
import type { StackProgress, TrainNetworkTask, TrainResult } from "../../engine/pool/network-protocol.ts";
import type { TaskPool } from "../plan.ts";
import { runEach } from "../shared/run-concurrently.ts";
import type { FitTimings } from "../shared/timings.ts";
import { memberName } from "./ensemble.ts";
import { EpochCount } from "./epoch-count.ts";
import { type Member, membersInTurn, type NetworkFault, NetworkMembers } from "./network-members.ts";
import type { PlannedNetwork } from "./planned-network.ts";
import { TrainedBlocks, type TrainOutcome } from "./trained-blocks.ts";

export interface TrainOptions {
  readonly pool: TaskPool;
  /** As the engine resolved it. */
  readonly device: string;
  /** Threads that each member of a joint network may use. */
  readonly threads: number;
  /** Tasks of one thread at a time. */
  readonly slots: number;
  /** Stacks, or members of a joint network, at a time on GPUs. */
  readonly gpus: number;
  /** The maximum that a network trains. */
  readonly epochs: number;
  /** Members of each network; 1 without ensembles. */
  readonly ensemble: number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings: FitTimings;
}

/**
 * Networks of one task. A worker that dies twice fails every network that has a member in its task, even an ensemble whose other
 * members are in another stack.
 */
export const MAX_STACK_SIZE = 64;

/**
 * Trains every network, as many at a time as the pool has workers, members of an ensemble in parallel; on GPUs in stacks, one at
 * a time on each. What a network learns depends neither on the others nor on when it is trained.
 * @param networks of all blocks.
 * @throws MucastError of the engine if it is not about one ticker, or if the network is the joint one of the first block.
 */
export async function trainNetworks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
): Promise<TrainOutcome> {
  const count = new EpochCount(networks.length, options, options.report);
  const trained = new TrainedBlocks();
  trained.add(await trainAll(networks, options, count));
  trained.add(await trainAll(trained.takeStandIns(), options, count));
  options.timings.finishAll();
  return trained.outcome();
}

async function trainAll(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
  count: EpochCount,
): Promise<readonly NetworkMembers[]> {
  // The first network of each name comes first, because the later ones depend on it. Then the largest, so that no large one
  // remains for a single worker at the end.
  const queue = networks
    .toSorted(
      (a, b) =>
        Number(b.isFirst) - Number(a.isFirst) ||
        b.size - a.size ||
        compareCodePoints(a.name, b.name) ||
        a.block - b.block,
    )
    .map((network) => new NetworkMembers(network, options.ensemble));
  await trainQueue(queue, lanesOf(queue, options), options, count);
  return queue.filter(({ hasBegun }) => hasBegun);
}

/** How many tasks run or wait in the pool at a time, and the members of each; without `stack`, one that is trained alone. */
interface Lanes {
  readonly lanes: number;
  readonly stack?: number;
}

/** Trains networks in order, each member in its own task or in stacks. @throws MucastError of the engine if it is not about one network. */
export async function trainQueue(
  queue: readonly NetworkMembers[],
  { lanes, stack }: Lanes,
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const waiting = membersInTurn(queue, (network) => count.finishAll(network));
  await runEach(options.signal, async (start, signal) => {
    const lane = async () => {
      for (let next = take(waiting, stack ?? 1); next.length > 0; next = take(waiting, stack ?? 1))
        await trainTogether(next, stack !== undefined, { ...options, signal }, count);
    };
    for (let i = 0; i < Math.min(lanes, queue.length * options.ensemble); i++) start(lane());
  });
}

/**
 * A joint network holds the panel of all tickers, so there are
 * only as many as fill the cores with their threads, and on GPUs one on each. Other networks have one task per ticker, and at least one
 * waiting for each slot; on GPUs they are stacked, so that each GPU gets one stack.
 */
function lanesOf(
  queue: readonly NetworkMembers[],
  { device, slots, threads, gpus, ensemble }: TrainOptions,
): Lanes {
  const isOnCpu = device === "cpu";
  if (queue.some(({ network }) => network.joint))
    return { lanes: isOnCpu ? Math.max(1, Math.floor(slots / threads)) : gpus };
  if (!isOnCpu)
    return { lanes: gpus, stack: Math.min(MAX_STACK_SIZE, Math.ceil((queue.length * ensemble) / gpus)) };
  const names = new Set(queue.map(({ network }) => network.name));
  return { lanes: Math.max(names.size, 2 * slots) };
}

/** The next waiting members, at most `size`. */
function take(waiting: Iterator<Member, void>, size: number): Member[] {
  const taken: Member[] = [];
  for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
    taken.push(next.value);
    if (taken.length === size) break;
  }
  return taken;
}

/** Trains members in one task. If a member fails, so does its network. @throws like trainQueue. */
async function trainTogether(
  taken: readonly Member[],
  isStacked: boolean,
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const ready: Member[] = [];
  const tasks: Awaited<ReturnType<NetworkMembers["task"]>>[] = [];
  for (const next of taken) {
    const { device, threads, signal } = options;
    const task = await next.of
      .task(next.member, { device, threads, signal })
      .catch((error: unknown) => networkError(next, error));
    if ("code" in task) await endMember(next, task, options, count);
    else {
      ready.push(next);
      tasks.push(task);
    }
  }
  if (ready.length === 0) return;
  const results = isStacked
    ? await runStack(ready, tasks as TrainNetworkTask[], options, count)
    : await Promise.all(ready.map((next, i) => runAlone(next, tasks[i]!, options, count)));
  for (const [i, next] of ready.entries()) await endMember(next, results[i]!, options, count);
}

function runAlone(
  next: Member,
  task: Awaited<ReturnType<NetworkMembers["task"]>>,
  { pool, signal }: TrainOptions,
  count: EpochCount,
): Promise<TrainResult | NetworkFault> {
  const { of, member } = next;
  return pool
    .run(task, { signal, onProgress: (progress) => count.epoch(of.network, member, progress) })
    .catch((error: unknown) => networkError(next, error));
}

async function runStack(
  stack: readonly Member[],
  tasks: readonly TrainNetworkTask[],
  { pool, device, signal }: TrainOptions,
  count: EpochCount,
): Promise<readonly (TrainResult | NetworkFault)[]> {
  const placeOf = (ticker: string, block: number, member: number) => `${block} ${member} ${ticker}`;
  const byPlace = new Map(
    stack.map((next) => [placeOf(next.of.network.name, next.of.network.block, next.member), next]),
  );
  const onProgress = ({ ticker, member, block = 0, ...progress }: StackProgress) => {
    const next = byPlace.get(placeOf(ticker, block, member));
    if (next !== undefined) count.epoch(next.of.network, member, progress);
  };
  const networks = tasks.map((task, i) => {
    const { block } = stack[i]!.of.network;
    return block === 0 ? task : { ...task, block };
  });
  const results = await pool.run({ task: "train_stack", networks, device }, { signal, onProgress }).then(
    (answer) => answer.results,
    (error: unknown) => {
      if (!costsOneTicker(error)) throw error;
      return stack.map(() => error);
    },
  );
  return results.map((result, i) => {
    if (!("code" in result)) return result;
    const { of, member } = stack[i]!;
    const message = `${memberName(of.network.name, member, of.ensemble)}: ${result.message}`;
    return { code: result.code, message, data: result.data };
  });
}

/** Ends a member, and reports it; members that never start count as done once their network has failed. */
async function endMember(
  { of, member }: Member,
  result: TrainResult | NetworkFault,
  { timings }: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const { name, joint, isFirst } = of.network;
  if ("code" in result) await of.fail(member, result);
  else {
    timings.add(name, result.seconds);
    await of.finish(member, result);
  }
  if (of.hasFailed && joint && isFirst) {
    // Without the first block there is no later one: the job fails.
    if (of.isDone && of.result instanceof MucastError) throw of.result;
    return;
  }
  count.finish(of.network, member);
  if (!of.isDone) return;
  timings.finish(name);
  if (of.hasFailed) count.finishAll(of.network);
}

/** An error that affects only the network. @throws any other. */
function networkError({ of }: Member, error: unknown): MucastError {
  if (costsOneTicker(error)) return error;
  if (!of.network.isFirst && error instanceof MucastError && isOfLearnedRows(error)) return error;
  throw error;
}

/** Codes of errors that affect one ticker and not the job; with a joint network the ticker's error is the job's. */
const TICKER_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "fit_failed",
  "engine_crashed",
  "diverged",
  "constant_target",
]);

export function costsOneTicker(error: unknown): error is MucastError {
  return error instanceof MucastError && TICKER_CODES.has(error.code);
}

/** Codes of faults in the rows to learn from, which are the same on every machine. */
const ROW_CODES: ReadonlySet<string> = new Set<ErrorCode>(["constant_target", "insufficient_history"]);

/**
 * Whether the network of a later block failed because of the rows that it learned from, so that the previous one can stand in. A
 * network that trains but whose forecasts are not finite does not count: which network forecasts a row must not depend on later
 * rows of its block.
 */
export function isOfLearnedRows({ code, data }: NetworkFault): boolean {
  return ROW_CODES.has(code) || (code === "diverged" && data?.epoch !== undefined);
}
