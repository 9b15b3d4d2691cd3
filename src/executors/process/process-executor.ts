import { extname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { credentialsFor, withoutSignature } from "../../blob/policy.ts";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { startTimeOf } from "../../contract/machine/process-stat.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { mib, outOfMemory } from "../../engine/process-memory.ts";
import { sweepWorkFolders, workFoldersOf } from "../../jobs/shared/work-folder.ts";
import { Child, childEnvironment, temporaryOf } from "../../processes/child.ts";
import { killGroup } from "../../processes/process-group.ts";
import { diskBytes, freeBytes, type OverLimit, type Usage, UsageLimit } from "../../processes/usage-limit.ts";
import type {
  Execution,
  ExecutionEnd,
  ExecutionListener,
  Executor,
  JobOrder,
  StopReason,
} from "../executor.ts";
import type { JobStorage } from "../job-storage.ts";
import type { FromJob, JobEnd, ToJob } from "./job-process.ts";

export interface ProcessExecutorOptions extends JobStorage {
  /** Called with each line that a job process prints, and the operation that it is running. No line contains a secret of the storage. */
  readonly log: (line: string, operationId: string | undefined) => void;
  /** Keeps one job process ready, so that a small job takes well under a second. */
  readonly warm: boolean;
  readonly jobs?: number;
  /** Bytes that all job processes together may hold; by default 80 % of the machine's memory. */
  readonly memoryBytes?: number;
  /** Bytes on disk that the temporary files of all jobs together may take; by default 80 % of what would be free without them. */
  readonly workBytes?: number | undefined;
  readonly cluster?: ClusterEngine | undefined;
  /** The environment from which job processes get a few variables; by default that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Keeps the processor time of the measurements below 2 % for memory, and mostly below 10 % for disks. */
const MEMORY_PAUSE = { min: 200, max: Number.POSITIVE_INFINITY, factor: 50 };
const DISK_PAUSE = { min: 1_000, max: 10_000, factor: 10 };
const FREE_SHARE = 0.8;

/** How long a job process of an earlier service may take to end by itself, which is usually far less. Then it is killed. */
const PATIENCE_MILLISECONDS = 10_000;
const POLL_MILLISECONDS = 50;

/** The next process loads its modules when the job has ended, or after this long, so that it does not slow down a short job. */
const REFILL_MILLISECONDS = 1_000;
const BACKOFF_MILLISECONDS = 2_000;

/** Runs jobs in processes of their own on this machine, one job at a time in each. The processes and their engines end with the service. */
export class ProcessExecutor implements Executor {
  readonly name = "process";
  readonly outlivesService = false;
  readonly #options: ProcessExecutorOptions;
  readonly #env: Record<string, string>;
  readonly #memoryBytes: number;
  readonly #running = new Map<string, Execution>();
  readonly #children = new Set<JobChild>();
  readonly #limits: readonly Pick<UsageLimit<unknown>, "start" | "stop">[];
  #refill: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ProcessExecutorOptions) {
    this.#options = options;
    const { env = process.env, policy, cluster, workBytes } = options;
    this.#env = childEnvironment(env, { ...credentialsFor(policy), cluster: cluster !== undefined });
    this.#memoryBytes = options.memoryBytes ?? defaultMemoryBytes();
    const temporary = temporaryOf(this.#env);
    const memory = new UsageLimit<JobChild>({
      measure: async () => {
        const living = this.#living();
        const enough = this.#memoryBytes / Math.max(1, living.length);
        return living.map((child) => ({ user: child, bytes: child.held(enough) }));
      },
      limit: () => this.#memoryBytes,
      onOver: endLargest,
      pause: MEMORY_PAUSE,
    });
    const disk = new UsageLimit<Run>({
      measure: async () => {
        const usages = [];
        for (const child of this.#living()) {
          const { run } = child;
          if (run !== undefined) usages.push({ user: run, bytes: await child.diskBytes() });
        }
        return usages;
      },
      limit: async (together) => workBytes ?? FREE_SHARE * ((await freeBytes(temporary)) + together),
      onOver: ([largest], { together, limit }) =>
        largest!.user.fail(diskFull(largest!.bytes, together, limit)),
      pause: DISK_PAUSE,
    });
    this.#limits = [memory, disk];
    for (const limit of this.#limits) void limit.start();
    if (options.warm) this.#spawn(true);
  }

  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const key = `${order.id}.${order.attempt}`;
    const running = this.#running.get(key);
    if (running) return running;
    if (this.#isClosed) throw new MucastError("unavailable", "the service is closing");
    const child = this.#waiting()[0] ?? this.#spawn(false);
    if (child.pid === undefined) throw new MucastError("unavailable", (await child.gone).reason);
    const execution = child.start(order, listener);
    this.#running.set(key, execution);
    this.#fillIn(REFILL_MILLISECONDS);
    // The first handler, so that there is room for another job when `ended` settles for the caller.
    void execution.ended.then(() => {
      this.#running.delete(key);
      // One process waits for the next order.
      if (child.waits && (!this.#options.warm || this.#waiting().length > 1)) child.stop();
      this.#fillIn(0);
    });
    return execution;
  }

  /** Waits until a process of an earlier service is gone, so that no two attempts run at the same time. */
  async adopt(order: JobOrder, handle: string): Promise<Execution | undefined> {
    const running = this.#running.get(`${order.id}.${order.attempt}`);
    if (running) return running;
    const [pid, started] = handle.split("-");
    const isOurs = [...this.#children].some((child) => child.pid === Number(pid));
    // The handle of another executor; or a process that has done that job, and runs another or waits for one.
    if (started === undefined || isOurs) return undefined;
    const deadline = performance.now() + PATIENCE_MILLISECONDS;
    while (startTimeOf(Number(pid)) === started) {
      if (performance.now() > deadline) killGroup(Number(pid));
      await pause(POLL_MILLISECONDS);
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    for (const limit of this.#limits) limit.stop();
    for (const child of this.#children) child.stop();
    await Promise.all([...this.#children].map(({ gone }) => gone));
  }

  #waiting(): JobChild[] {
    return [...this.#children].filter(({ waits }) => waits);
  }

  /** Starts a process if none waits and another job could start; the latest call counts. */
  #fillIn(milliseconds: number): void {
    clearTimeout(this.#refill);
    if (!this.#options.warm || this.#isClosed) return;
    this.#refill = setTimeout(() => {
      const isWanted = this.#running.size < (this.#options.jobs ?? 1);
      if (isWanted && this.#waiting().length === 0) this.#spawn(true);
    }, milliseconds);
  }

  #spawn(warm: boolean): JobChild {
    const { blobUrl, policy, log, cluster } = this.#options;
    const storage = { blobUrl, policy };
    // With a cluster, an engine on this machine would be idle.
    const setup = {
      ...storage,
      memoryBytes: this.#memoryBytes,
      cluster,
      warm: warm && cluster === undefined,
    };
    const child = new JobChild(this.#env, log, setup);
    this.#children.add(child);
    void child.gone.then(({ waited }) => {
      this.#children.delete(child);
      if (waited) this.#fillIn(BACKOFF_MILLISECONDS);
    });
    return child;
  }

  /** Without those that were killed, whose memory and files the system is still reclaiming. */
  #living(): JobChild[] {
    return [...this.#children].filter(({ isEnding }) => !isEnding);
  }
}

/** Ends the processes that wait, or, if none does, the largest job. */
function endLargest(usages: readonly Usage<JobChild>[], { together, limit }: OverLimit): void {
  const waiting = usages.filter(({ user }) => user.run === undefined);
  for (const { user } of waiting) user.stop();
  const [largest] = usages;
  const jobs = usages.length;
  if (waiting.length === 0 && largest !== undefined)
    largest.user.run?.fail(outOfMemory({ held: largest.bytes, together, limit, share: limit / jobs, jobs }));
}

function diskFull(bytes: number, together: number, limit: number): MucastError {
  const others = together === bytes ? "" : `, and the files of all jobs together ${mib(together)}`;
  const message = `the job's temporary files took ${mib(bytes)}${others}, over the limit of ${mib(limit)} (work_bytes)`;
  return new MucastError("output_failed", message, { held_bytes: bytes, limit_bytes: Math.floor(limit) });
}

interface Run {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly ended: PromiseWithResolvers<ExecutionEnd>;
  /** Kills the process, if it still runs this order. The job fails, unless it has already reported its end. */
  readonly fail: (error: MucastError) => void;
  stopped?: StopReason;
  end?: JobEnd;
}

const MODULE = fileURLToPath(new URL(`./job-process${extname(import.meta.url)}`, import.meta.url));

const STOPPED = {
  canceled: "the job was stopped on request",
  timed_out: "the job was stopped at its time limit",
};

export class JobChild extends Child<ToJob, FromJob> {
  /** Settles once nothing of it runs any more and its work folder is removed; never rejects. `waited`: it had no order. */
  readonly gone: Promise<{ readonly reason: string; readonly waited: boolean }>;
  readonly #temporary: string;
  #run: Run | undefined;

  constructor(
    env: Readonly<Record<string, string>>,
    log: ProcessExecutorOptions["log"],
    setup: Omit<Extract<ToJob, { op: "setup" }>, "op">,
  ) {
    super({
      module: MODULE,
      env,
      onMessage: (message) => this.#receive(message),
      onLine: (line) => log(withoutSignature(line), this.#run?.order.id),
    });
    this.#temporary = temporaryOf(env);
    this.gone = this.ended.then(async ({ how, reason }) => {
      if (how?.signal) await sweepWorkFolders(this.#temporary);
      const waited = this.#run === undefined;
      this.#finish(reason);
      return { reason, waited };
    });
    this.send({ op: "setup", ...setup });
  }

  start(order: JobOrder, listener: ExecutionListener): Execution {
    let started: string | undefined;
    try {
      started = startTimeOf(this.pid!);
    } catch (cause) {
      this.kill();
      throw new MucastError("unavailable", "no job process can be looked up", {}, { cause });
    }
    const fail = (error: MucastError) => {
      if (this.#run !== run) return;
      run.end ??= { kind: "failed", problem: problemOf(error) };
      this.kill();
    };
    const run: Run = { order, listener, ended: Promise.withResolvers(), fail };
    this.#run = run;
    this.send({ op: "order", order });
    return {
      handle: `${this.pid}-${started ?? 0}`,
      ended: run.ended.promise,
      setWorkers: (workers) => {
        if (this.#run === run) this.send({ op: "workers", workers });
      },
      stop: (reason) => {
        run.stopped ??= reason;
        if (this.#run === run) this.stop();
      },
    };
  }

  /** An order that it runs is lost, unless it was stopped for another reason before. */
  override stop(): void {
    if (this.#run) this.#run.stopped ??= "draining";
    super.stop();
  }

  get waits(): boolean {
    return !this.isEnding && this.#run === undefined;
  }

  get run(): Run | undefined {
    return this.#run;
  }

  async diskBytes(): Promise<number> {
    let bytes = 0;
    for (const folder of workFoldersOf(this.pid!, this.#temporary))
      bytes += await diskBytes(folder, this.pid!);
    return bytes;
  }

  #receive(message: FromJob): void {
    const run = this.#run;
    if (message.event === "events") run?.listener.onEvents(message.batch);
    else if (message.event === "timings") run?.listener.onTimings(message.timings);
    else {
      if (run) run.end ??= message.end;
      if (message.isLast) super.stop();
      else this.#finish("");
    }
  }

  /** @param reason why the process ended, if it did. */
  #finish(reason: string): void {
    const run = this.#run;
    this.#run = undefined;
    if (run === undefined) return;
    const { end, stopped } = run;
    const lost = (reason: string) => ({ kind: "lost", reason }) as const;
    const endOf = (): ExecutionEnd => {
      if (end?.kind === "succeeded") return end;
      if (stopped === "draining") return lost("the service released it");
      if (end !== undefined) return end;
      if (stopped === undefined) return lost(`the job's process is gone: ${reason}`);
      return { kind: "failed", problem: problemOf(new MucastError(stopped, STOPPED[stopped])) };
    };
    run.ended.resolve(endOf());
  }
}
