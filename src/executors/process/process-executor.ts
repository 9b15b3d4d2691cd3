import { setTimeout as pause } from "node:timers/promises";
import { credentialsFor } from "../../blob/policy.ts";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { startTimeOf } from "../../contract/machine/process-stat.ts";
import { StoppedWatch } from "../../contract/machine/stopped-watch.ts";
import { childEnvironment } from "../../processes/child-environment.ts";
import { DiskBudget } from "../../processes/disk-budget.ts";
import { MemoryBudget } from "../../processes/memory-budget.ts";
import type { Execution, ExecutionListener, Executor, JobOrder } from "../executor.ts";
import { JobChild, temporaryOf } from "./job-child.ts";
import type { JobStorage } from "./messages.ts";
import { Standby } from "./standby.ts";

export interface ProcessExecutorOptions extends JobStorage {
  /** Called with each line that a job process prints, and the operation that it is running. No line contains a secret of the storage. */
  readonly log: (line: string, operationId: string | undefined) => void;
  /** Keeps one job process ready, so that a small job takes well under a second. */
  readonly warm: boolean;
  /** Jobs at a time; 1 by default. */
  readonly jobs?: number;
  /** Bytes that all job processes together may hold; by default 80 % of the machine's memory. */
  readonly memoryBytes?: number;
  /** Bytes on disk that the temporary files of all jobs together may take; by default 80 % of what would be free without them. */
  readonly workBytes?: number | undefined;
  /** How long a job process may be stopped (SIGSTOP) before it is killed; 2 minutes (Linux). */
  readonly stoppedMilliseconds?: number;
  /** The cluster that jobs compute on; by default this machine. */
  readonly cluster?: ClusterEngine | undefined;
  /** The environment from which job processes get a few variables; by default that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The time in which a job process of an earlier service ends by itself is about 2 s. */
const PATIENCE_MILLISECONDS = 10_000;
const POLL_MILLISECONDS = 50;

/** Runs jobs in processes of their own on this machine, one job at a time in each. The processes and their engines end with the service. */
export class ProcessExecutor implements Executor {
  readonly name = "process";
  readonly outlivesService = false;
  readonly #options: ProcessExecutorOptions;
  readonly #running = new Map<string, Execution>();
  /** All processes, including those that wait for an order. */
  readonly #children = new Set<JobChild>();
  readonly #memory: MemoryBudget;
  readonly #disk: DiskBudget;
  readonly #stopped: StoppedWatch;
  readonly #memoryBytes: number;
  readonly #standby: Standby | undefined;
  /** The environment, as JSON, with which the waiting process was started. */
  #standbyEnv = "";
  #closed = false;

  constructor(options: ProcessExecutorOptions) {
    this.#options = options;
    this.#memoryBytes = options.memoryBytes ?? defaultMemoryBytes();
    this.#memory = new MemoryBudget({
      limitBytes: this.#memoryBytes,
      processes: () => [...this.#children],
      stopWaiting: () => this.#standby?.stopWaiting() ?? [],
    });
    this.#memory.start();
    this.#disk = new DiskBudget({
      limitBytes: options.workBytes,
      folder: temporaryOf(this.#env()),
      processes: () => [...this.#children],
    });
    void this.#disk.start();
    this.#stopped = new StoppedWatch(() => this.#children, options.stoppedMilliseconds);
    const isWanted = () => this.#running.size < (options.jobs ?? 1);
    this.#standby = options.warm ? new Standby({ start: () => this.#spawn(true), isWanted }) : undefined;
  }

  /** Settles once a job process waits for an order, or has ended; at once if none is kept ready. */
  async ready(): Promise<void> {
    await this.#standby?.child?.ready;
  }

  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const key = `${order.id}.${order.attempt}`;
    const running = this.#running.get(key);
    if (running) return running;
    const { child, execution } = await this.#begin(order, listener);
    this.#running.set(key, execution);
    // The first handler, so that there is room for another job when `ended` settles for the caller.
    void execution.ended.then(() => {
      this.#running.delete(key);
      this.#afterJob(child);
    });
    return execution;
  }

  /** Waits until a process of an earlier service is gone, so that no two attempts run at the same time. */
  async adopt(order: JobOrder, handle: string): Promise<Execution | undefined> {
    const running = this.#running.get(`${order.id}.${order.attempt}`);
    if (running) return running;
    const [pid, started] = handle.split("-");
    // The handle of another executor, or of a process that could not start.
    if (started === undefined) return undefined;
    // It has done that job, and runs another or waits for one.
    if ([...this.#children].some((child) => child.pid === Number(pid))) return undefined;
    const deadline = performance.now() + PATIENCE_MILLISECONDS;
    while (startTimeOf(Number(pid)) === started && performance.now() < deadline)
      await pause(POLL_MILLISECONDS);
    return undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#memory.stop();
    this.#disk.stop();
    this.#stopped.stop();
    this.#standby?.close();
    for (const child of this.#children) child.stop();
    await Promise.all([...this.#children].map(({ ended }) => ended));
  }

  /** Starts the order in a job process. The waiting one may have just died, so a new one is tried too. */
  async #begin(order: JobOrder, listener: ExecutionListener) {
    let reason = "the service is closing";
    for (let tries = 0; tries < 2 && !this.#closed; tries++) {
      const child = this.#waiting() ?? this.#spawn(false);
      const execution = await child.start(order, listener);
      if (execution) return { child, execution };
      reason = await child.ended;
    }
    throw new MucastError("unavailable", `no job process can be started: ${reason}`);
  }

  /** A process that is still alive waits for another order; without a standby it is stopped. */
  #afterJob(child: JobChild): void {
    if (!child.isAlive) return;
    if (this.#standby) this.#standby.takeBack(child);
    else child.stop();
  }

  #waiting(): JobChild | undefined {
    if (this.#standbyEnv === JSON.stringify(this.#env())) return this.#standby?.take();
    this.#standby?.replace();
    return undefined;
  }

  #spawn(warm: boolean): JobChild {
    const env = this.#env();
    if (warm) this.#standbyEnv = JSON.stringify(env);
    const { blobUrl, policy, log, cluster } = this.#options;
    const child = new JobChild({
      env,
      log,
      blobUrl,
      policy,
      memoryBytes: this.#memoryBytes,
      cluster,
      // With a cluster, an engine on this machine would be idle.
      warm: warm && cluster === undefined,
    });
    this.#children.add(child);
    void child.ended.then(() => this.#children.delete(child));
    return child;
  }

  #env(): Record<string, string> {
    const { env = process.env, policy, cluster } = this.#options;
    return childEnvironment(env, { ...credentialsFor(policy), cluster: cluster !== undefined });
  }
}
