import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Report } from "../../contract/output/job-events.ts";
import type { EpochProgress } from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { runEach } from "../shared/run-concurrently.ts";
import type { FitTimings } from "../shared/timings.ts";
import type { EpochCount } from "./epoch-count.ts";
import { type Member, membersInTurn, type NetworkMembers } from "./network-members.ts";

export interface TrainOptions {
  readonly pool: EnginePool;
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
 * Trains networks in order, each member in its own task. If a member fails, so does its network.
 * @param width tasks that run or wait in the pool at a time.
 * @throws MucastError of the engine if it is not about one network.
 */
export async function trainEach(
  all: readonly NetworkMembers[],
  width: number,
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  const waiting = membersInTurn(all, (network) => count.finishAll(network));
  await runEach(options.signal, async (start, signal) => {
    for (let lane = 0; lane < Math.min(width, all.length * options.ensemble); lane++) {
      start(trainWaiting(waiting, { ...options, signal }, count));
    }
  });
}

/** Trains the next waiting member, until none is left. */
async function trainWaiting(
  waiting: Iterable<Member>,
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  for (const next of waiting) await trainMember(next, options, count);
}

async function trainMember(next: Member, options: TrainOptions, count: EpochCount): Promise<void> {
  const { of, member } = next;
  const { pool, device, threads, signal, timings } = options;
  const onProgress = (progress: EpochProgress) => count.epoch(of.network, member, progress);
  const result = await of
    .task(member, { device, threads, signal })
    .then((task) => pool.run(task, { signal, onProgress }))
    .catch((error: unknown) => memberError(next, error));
  if ("code" in result) await of.fail(member, result);
  else {
    timings.add(of.network.name, result.seconds);
    await of.finish(member, result);
  }
  reportEnd(next, options, count);
  // Without the first block there is no later one: the rest would be trained in vain.
  if (of.network.joint && of.network.isFirst && of.isDone && of.result instanceof MucastError)
    throw of.result;
}

/** An error that affects only the network. @throws any other. */
export function memberError({ of }: Member, error: unknown): MucastError {
  if (costsOneTicker(error)) return error;
  if (!of.network.isFirst && error instanceof MucastError && isOfLearnedRows(error)) return error;
  throw error;
}

/** Reports that a member has ended; members that never start count as done once their network has failed. */
export function reportEnd(
  { of, member }: Member,
  { timings }: Pick<TrainOptions, "timings">,
  count: EpochCount,
): void {
  const { name, joint, isFirst } = of.network;
  if (of.hasFailed && joint && isFirst) return; // The job fails.
  count.finish(of.network, member);
  if (!of.isDone) return;
  timings.finish(name);
  if (of.hasFailed) count.finishAll(of.network);
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
export function isOfLearnedRows(error: {
  readonly code: string;
  readonly data?: MucastError["data"] | undefined;
}): boolean {
  const { code, data } = error;
  return ROW_CODES.has(code) || (code === "diverged" && data?.epoch !== undefined);
}
