import { availableParallelism } from "node:os";
import { MucastError } from "../../contract/errors/errors.ts";
import { crashError, endOf, hostError, importError, startError, taskError } from "./engine-errors.ts";
import type { Job, Worker } from "./engine-task.ts";
import { type HostEnd, type HostHearer, HostProcess, untilGone } from "./host-process.ts";
import { MemoryWatch } from "./memory-watch.ts";
import type { EngineMessage, EngineTask, Greeting, ProgressOf, ResultOf, TaskFault } from "./protocol.ts";
import type { WarmHost } from "./warm-host.ts";

export interface PoolOptions {
  /** Interpreter of an environment that has the libraries. */
  readonly python: string;
  /** Modules to import: sklearn, xgboost, lightgbm, catboost, torch. Only what the job's tasks need. */
  readonly libraries: readonly string[];
  /** Tasks at a time, each on one thread; by default the cores this process may use. */
  readonly workers?: number;
  /** Folder of the arrays that tasks name; no task reads or writes outside it. */
  readonly workFolder: string;
  /**
   * Memory of this process, the host and all workers together, files they have mapped aside; over it the largest worker
   * is killed, or the pool fails (Linux).
   */
  readonly memoryLimitBytes?: number;
  /** How workers come to be, where the engine should not decide. */
  readonly start?: "fork" | "spawn";
  /**
   * A host of the same interpreter and work folder to begin with, given back at `close` where it is fit for another
   * pool. Where it has ended, another is started.
   */
  readonly warmHost?: WarmHost | undefined;
  /** Gets what the libraries print, line by line, and a line for each worker that died at a task. */
  readonly log?: (line: string) => void;
}

export interface RunOptions<T extends EngineTask = EngineTask> {
  /** Kills the worker of this task, and whatever it started, at once. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ProgressOf<T>) => void;
}

/** How the pool's log line about a worker's death begins. */
export const WORKER_DIED = "a worker died at its task";
const ATTEMPTS = 2;
const HOSTS = 2;
const GRACE_MILLISECONDS = 5_000;

/**
 * The Python workers of one job: a host process that imports the libraries once, and workers forked from it.
 *
 * A worker that dies takes one task along, which is tried once more on a new worker and then fails as
 * `engine_crashed`; the others go on. Nothing outlives this process, however it ends.
 */
export class EnginePool {
  /** The versions in use, once the libraries are imported; rejects with `engine_unavailable`. */
  readonly greeting: Promise<Greeting>;
  readonly #options: PoolOptions;
  readonly #limit: number;
  readonly #greeted: PromiseWithResolvers<Greeting> = Promise.withResolvers();
  readonly #queue: Job[] = [];
  readonly #workers = new Map<number, Worker>();
  /** Of every worker that the host has started; one that is killed leaves them for the kernel to kill. */
  readonly #pids: number[] = [];
  readonly #memory: MemoryWatch;
  #host: HostProcess;
  #hosts = 0;
  #ready = false;
  /** Whether the host is the one that was given. */
  #isWarm = false;
  #onEmpty: (() => void) | undefined;
  #failure: MucastError | undefined;
  #closing: Promise<void> | undefined;
  #counter = 0;

  private constructor(options: PoolOptions) {
    this.#options = options;
    this.#limit = Math.max(1, options.workers ?? availableParallelism());
    this.greeting = this.#greeted.promise;
    this.greeting.catch(() => undefined); // Whoever runs a task hears of it as well.
    this.#memory = new MemoryWatch({
      limitBytes: options.memoryLimitBytes,
      base: () => [process.pid, this.#host?.pid ?? []].flat(),
      workers: () => this.#workers.values(),
      kill: (worker) => this.#kill(worker),
      fail: (error) => this.#giveUp(error),
    });
    this.#host = this.#startHost(options.warmHost);
  }

  /** Starts the host and returns at once; tasks may be given while it imports. */
  static start(options: PoolOptions): EnginePool {
    return new EnginePool(options);
  }

  /**
   * Runs `task` on the next free worker, first come first served.
   * @throws MucastError of the task (such as `fit_failed`, `diverged` or `device_unavailable`), `engine_crashed`
   *   with `ticker` where the worker died twice on it, `engine_unavailable`, or `canceled` after `close`; the reason
   *   of `signal` where that was aborted, once the task's worker is gone.
   */
  run<T extends EngineTask>(task: T, { signal, onProgress }: RunOptions<T> = {}): Promise<ResultOf<T>> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#abort(job, signal?.reason);
      const job: Job = {
        task,
        // The engine tells of a task what the protocol says of its kind.
        onProgress: onProgress as Job["onProgress"],
        deaths: [],
        settle: (outcome) => {
          signal?.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result as ResultOf<T>);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(job);
      this.#dispatch();
    });
  }

  /** Kills what still runs, fails what still waits, and returns when every process of the pool is gone, but for a warm host. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    const isSound = this.#failure === undefined;
    this.#fail(new MucastError("canceled", "the engine was closed before the task ended"));
    if (isSound && (await this.#givenBack())) return;
    // While it imports, the host has no workers and does not read its stdin.
    if (this.#ready) this.#host.endInput();
    else this.#host.kill();
    const impatience = setTimeout(() => this.#host.kill(), GRACE_MILLISECONDS);
    const { orderly } = await this.#host.ended;
    clearTimeout(impatience);
    this.#memory.stop();
    if (!orderly) await untilGone(this.#pids);
  }

  /** Whether the warm host waits for another pool now, every worker of this one gone. */
  async #givenBack(): Promise<boolean> {
    if (!this.#isWarm || !this.#ready) return false;
    for (const worker of this.#workers.values()) this.#kill(worker);
    const { promise: impatient, resolve } = Promise.withResolvers<false>();
    const impatience = setTimeout(() => resolve(false), GRACE_MILLISECONDS);
    const ended = this.#host.ended.then(() => false);
    const isEmpty = await Promise.race([this.#untilEmpty(), ended, impatient]);
    clearTimeout(impatience);
    if (!isEmpty || !this.#options.warmHost!.takeBack()) return false;
    this.#memory.stop();
    return true;
  }

  /** Fulfilled once the host has told of the end of every worker. */
  #untilEmpty(): Promise<true> {
    return new Promise((resolve) => {
      this.#onEmpty = () => resolve(true);
      if (this.#workers.size === 0) resolve(true);
    });
  }

  #startHost(warmHost?: WarmHost): HostProcess {
    this.#hosts++;
    this.#ready = false;
    this.#pids.length = 0;
    const hearer: HostHearer = {
      onMessage: (message) => this.#onMessage(message),
      log: this.#options.log ?? (() => undefined),
    };
    const warm = warmHost?.handOver(this.#options.libraries, hearer);
    const host = warm ?? new HostProcess({ ...this.#options, hearer });
    this.#isWarm = warm !== undefined;
    void host.ended.then((end) => this.#onHostEnd(end, host === warm));
    return host;
  }

  /** Gives waiting jobs to idle workers, and starts workers up to the limit. */
  #dispatch(): void {
    if (!this.#ready) return;
    const idle = [...this.#workers.values()].filter((worker) => !worker.busy && !worker.killed);
    while (this.#queue.length > 0) {
      const worker = idle.pop() ?? this.#startWorker();
      if (!worker) return;
      const job = this.#queue.shift()!;
      const id = ++this.#counter;
      worker.busy = { id, job };
      const { label: _, ...task } = job.task;
      this.#host.send({ op: "task", worker: worker.number, id }, task);
    }
  }

  #startWorker(): Worker | undefined {
    if (this.#workers.size >= this.#limit) return undefined;
    const worker: Worker = { number: ++this.#counter };
    this.#workers.set(worker.number, worker);
    this.#host.send({ op: "start", worker: worker.number });
    return worker;
  }

  #kill(worker: Worker): void {
    worker.killed = true;
    this.#host.send({ op: "kill", worker: worker.number });
  }

  #abort(job: Job, reason: unknown): void {
    const waiting = this.#queue.indexOf(job);
    if (waiting >= 0) {
      this.#queue.splice(waiting, 1);
      job.settle({ error: reason });
      return;
    }
    job.aborted = { reason };
    const worker = [...this.#workers.values()].find((candidate) => candidate.busy?.job === job);
    if (worker) this.#kill(worker);
  }

  #onMessage(message: EngineMessage): void {
    switch (message.event) {
      case "ready": {
        this.#ready = true;
        const { event: _, ...greeting } = message;
        this.#greeted.resolve(greeting);
        break;
      }
      case "worker_started": {
        const worker = this.#workers.get(message.worker);
        if (worker) worker.pid = message.pid;
        this.#pids.push(message.pid);
        return;
      }
      case "worker_exited":
        this.#pids.splice(this.#pids.indexOf(message.pid), 1);
        this.#onWorkerEnd(message.worker, endOf(message));
        break;
      case "failed":
        this.#fail(importError(this.#options.python, message.message));
        this.#host.endInput();
        return;
      case "progress":
        this.#workerOf(message.id)?.busy?.job.onProgress?.(message);
        return;
      case "result":
        this.#finish(message.id, { result: message.result });
        break;
      case "error":
        this.#finish(message.id, message);
        break;
    }
    this.#dispatch();
  }

  #workerOf(id: number): Worker | undefined {
    return [...this.#workers.values()].find((worker) => worker.busy?.id === id);
  }

  #finish(id: number, answer: { readonly result: unknown } | TaskFault): void {
    const worker = this.#workerOf(id);
    // A worker that is being killed answers by its end, so that nothing of the task runs on when it is settled.
    if (!worker?.busy || worker.killed) return;
    const { job } = worker.busy;
    delete worker.busy;
    if ("result" in answer) job.settle({ result: answer.result });
    else job.settle({ error: taskError(job, answer) });
  }

  #onWorkerEnd(number: number, words: string): void {
    const worker = this.#workers.get(number);
    this.#workers.delete(number);
    if (this.#workers.size === 0) this.#onEmpty?.();
    if (worker?.busy && (!worker.killed || worker.overMemory !== undefined))
      this.#options.log?.(`${WORKER_DIED}: ${worker.overMemory ?? words}`);
    if (worker?.busy) this.#retry(worker.busy.job, worker.overMemory ?? words, !worker.tooLarge);
  }

  /** After the death of a job's worker. */
  #retry(job: Job, words: string, mayEndBetter = true): void {
    job.deaths.push(words);
    if (job.aborted) job.settle({ error: job.aborted.reason });
    else if (this.#failure) job.settle({ error: this.#failure });
    else if (mayEndBetter && job.deaths.length < ATTEMPTS) this.#queue.unshift(job);
    else job.settle({ error: crashError(job) });
  }

  #onHostEnd(end: HostEnd, warm: boolean): void {
    const running = [...this.#workers.values()].flatMap((worker) => worker.busy?.job ?? []);
    this.#workers.clear();
    // One that was started before the job may have been ended by anything meanwhile; it says nothing of the job's.
    if (warm && !this.#ready) this.#hosts = 0;
    else if (!this.#failure && !this.#ready) this.#fail(startError(this.#options.python, end));
    if (!this.#failure && this.#hosts >= HOSTS) this.#fail(hostError(end));
    for (const job of running) this.#retry(job, `its host ended (${end.reason})`);
    if (this.#failure) return;
    this.#host = this.#startHost();
  }

  /** Fails, and ends what runs. */
  #giveUp(error: MucastError): void {
    if (this.#failure) return;
    this.#fail(error);
    for (const worker of this.#workers.values()) this.#kill(worker);
  }

  /** No task is taken from now on; those that wait are settled here, those that run when their worker is gone. */
  #fail(error: MucastError): void {
    this.#failure ??= error;
    this.#greeted.reject(this.#failure);
    for (const job of this.#queue.splice(0)) job.settle({ error: this.#failure });
  }
}
