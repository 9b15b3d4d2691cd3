import { MucastError } from "../../contract/errors/errors.ts";
import type { StackProgress, TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { memberName } from "./ensemble.ts";
import type { EpochCount } from "./epoch-count.ts";
import { type Member, membersInTurn, type NetworkMembers } from "./network-members.ts";
import { costsOneTicker, memberError, reportEnd, type TrainOptions } from "./train-network.ts";

/**
 * Networks of one task. A worker that dies twice fails every network that has a member in its task, even an ensemble whose other
 * members are in another stack.
 */
export const MAX_STACK_SIZE = 64;

/**
 * Trains networks of single tickers in stacks, as many at a time as there are GPUs, and small enough that each GPU gets one.
 * Members of an ensemble and networks of later blocks are entries like others; members of a failed network are not started.
 * @throws MucastError of the engine if it is not about one ticker.
 */
export async function trainStacks(
  all: readonly NetworkMembers[],
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const { ensemble, gpus } = options;
  const waiting = membersInTurn(all, (network) => count.finishAll(network));
  const size = Math.min(MAX_STACK_SIZE, Math.ceil((all.length * ensemble) / gpus));
  const trainNext = async (signal: AbortSignal): Promise<void> => {
    for (let stack = takeStack(waiting, size); stack.length > 0; stack = takeStack(waiting, size)) {
      await trainStack(stack, { ...options, signal }, count);
    }
  };
  await runEach(options.signal, async (start, signal) => {
    for (let gpu = 0; gpu < gpus; gpu++) start(trainNext(signal));
  });
}

/** The next waiting members, at most `size`. */
function takeStack(waiting: Iterator<Member, void>, size: number): Member[] {
  const stack: Member[] = [];
  while (stack.length < size) {
    const next = waiting.next();
    if (next.done === true) break;
    stack.push(next.value);
  }
  return stack;
}

async function trainStack(taken: readonly Member[], options: TrainOptions, count: EpochCount): Promise<void> {
  const { pool, device, signal, timings } = options;
  const stack: Member[] = [];
  const networks: TrainNetworkTask[] = [];
  for (const next of taken) {
    const task = await stackedTask(next, options).catch((error: unknown) => memberError(next, error));
    if ("code" in task) {
      await next.of.fail(next.member, task);
      reportEnd(next, options, count);
    } else {
      stack.push(next);
      networks.push(task);
    }
  }
  if (stack.length === 0) return;
  const byPlace = new Map(
    stack.map((next) => [placeOf(next.of.network.name, next.of.network.block, next.member), next]),
  );
  const onProgress = ({ ticker, member, block = 0, ...progress }: StackProgress) => {
    const next = byPlace.get(placeOf(ticker, block, member));
    if (next !== undefined) count.epoch(next.of.network, member, progress);
  };
  const results = await pool.run({ task: "train_stack", networks, device }, { signal, onProgress }).then(
    (answer) => answer.results,
    (error: unknown) => {
      if (!costsOneTicker(error)) throw error;
      return stack.map(() => error);
    },
  );
  for (const [index, next] of stack.entries()) {
    const { of, member } = next;
    const result = results[index]!;
    if ("code" in result) {
      const message = `${memberName(of.network.name, member, of.ensemble)}: ${result.message}`;
      await of.fail(member, { code: result.code, message, data: result.data });
    } else {
      timings.add(of.network.name, result.seconds);
      await of.finish(member, result);
    }
    reportEnd(next, options, count);
  }
}

function placeOf(ticker: string, block: number, member: number): string {
  return `${block} ${member} ${ticker}`;
}

async function stackedTask(
  { of, member }: Member,
  { device, threads, signal }: TrainOptions,
): Promise<TrainNetworkTask> {
  const task = await of.task(member, { device, threads, signal });
  if (task.task === "train_joint") throw new MucastError("internal", `${of.network.name} is in no stack`);
  const { block } = of.network;
  return block === 0 ? task : { ...task, block };
}
