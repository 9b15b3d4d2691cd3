import { MucastError } from "../../contract/errors/errors.ts";
import type { StackProgress, TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { memberName } from "./ensemble.ts";
import type { EpochCount } from "./epoch-count.ts";
import { type Member, membersInTurn, type NamedResult, NetworkMembers } from "./network-members.ts";
import type { PlannedNetwork } from "./planned-network.ts";
import { costsOneTicker } from "./ticker-errors.ts";
import { reportEnd, type TrainOptions } from "./train-network.ts";

/**
 * Networks of one task. A worker that dies twice costs every network that has a member in its task, also an ensemble whose other
 * members are in another stack.
 */
export const MAX_STACK_SIZE = 64;

/**
 * Trains networks of single tickers in stacks, as many at a time as there are GPUs, and no larger than gives each GPU one.
 * Members of an ensemble are entries like others; those of a network that has failed are not begun.
 * @throws MucastError of the engine where it is not about one ticker.
 */
export async function trainStacks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
  count: EpochCount,
): Promise<readonly NamedResult[]> {
  const { ensemble, gpus } = options;
  const all = networks.map((network) => new NetworkMembers(network, ensemble));
  const waiting = membersInTurn(all);
  const size = Math.min(MAX_STACK_SIZE, Math.ceil((networks.length * ensemble) / gpus));
  const trainNext = async (signal: AbortSignal): Promise<void> => {
    for (let stack = takeStack(waiting, size); stack.length > 0; stack = takeStack(waiting, size)) {
      await trainStack(stack, { ...options, signal }, count);
    }
  };
  await runEach(options.signal, async (start, signal) => {
    for (let gpu = 0; gpu < gpus; gpu++) start(trainNext(signal));
  });
  return all.map(({ named }) => named);
}

/** The next members that wait, no more than `size`. */
function takeStack(waiting: Iterator<Member, void>, size: number): Member[] {
  const stack: Member[] = [];
  while (stack.length < size) {
    const next = waiting.next();
    if (next.done === true) break;
    stack.push(next.value);
  }
  return stack;
}

async function trainStack(stack: readonly Member[], options: TrainOptions, count: EpochCount): Promise<void> {
  const { pool, device, signal, timings } = options;
  const networks: TrainNetworkTask[] = [];
  for (const next of stack) networks.push(await stackedTask(next, options));
  const onProgress = (progress: StackProgress) => count.epoch(progress.ticker, progress.member, progress);
  const results = await pool.run({ task: "train_stack", networks, device }, { signal, onProgress }).then(
    (answer) => answer.results,
    (error: unknown) => {
      if (!costsOneTicker(error)) throw error;
      return stack.map(() => error);
    },
  );
  for (const [index, next] of stack.entries()) {
    const { of, member } = next;
    const { name } = of.network;
    const result = results[index]!;
    if ("code" in result) {
      const message = `${memberName(name, member, of.ensemble)}: ${result.message}`;
      await of.fail(member, { code: result.code, message });
    } else {
      timings.add(name, result.seconds);
      await of.finish(member, result, signal);
    }
    reportEnd(next, options, count);
  }
}

async function stackedTask(
  { of, member }: Member,
  { device, threads, signal }: TrainOptions,
): Promise<TrainNetworkTask> {
  const task = await of.task(member, { device, threads, signal });
  if (task.task === "train_joint") throw new MucastError("internal", `${of.network.name} is in no stack`);
  return task;
}
