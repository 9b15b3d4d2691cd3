import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";
import { memoryOf } from "../process-memory.ts";
import { ClusterBackend } from "./cluster-backend.ts";
import type { Capacity } from "./cluster-capacity.ts";
import { crashError, endOf, importError, taskError } from "./engine-errors.ts";
import { EngineHost } from "./engine-host.ts";
import type { HostEnd, HostOptions, WarmHost } from "./host-process.ts";
import type { EngineMessage, EngineTask, Greeting, ProgressOf, ResultOf } from "./protocol.ts";
import { type PendingTask, type Worker, Workers, watchMemory } from "./workers.ts";

export interface PoolOptions extends HostOptions {
  /** Tasks at a time, with one thread each; by default the cores this process may use, or all slots of the cluster. */
  readonly workers?: number | undefined;
  /**
   * Memory limit of this process, the host and all workers together, without mapped files; by default 80 % of the machine's memory. Beyond
   * it, the largest worker is killed, or the pool fails (Linux).
   */
  readonly memoryLimitBytes?: number;
  /**
   * A host with the same interpreter and work folder, not pinned, to start with; `close` releases it if it suits another pool. If it has
   * ended, the pool starts its own.
   */
  readonly warmHost?: WarmHost | undefined;
  /** Receives the output of the libraries, line by line, and a line for each worker that died during a task. */
  readonly log?: (line: string) => void;
  /** Receives a line for each event of a cluster: nodes that come and go, tasks that wait or are lost. Their number is bounded. */
  readonly notice?: ((line: string) => void) | undefined;
}

export interface RunOptions<T extends EngineTask = EngineTask> {
  /** Kills the worker of this task, and whatever it started, at once. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ProgressOf<T>) => void;
  /** The name of the cluster node that has to run it; by default the cluster chooses. */
  readonly node?: string | undefined;
  /** Bytes that it reserves on its node of a cluster. */
  readonly memoryBytes?: number | undefined;
}

/** The beginning of the pool's log line about a worker's death. */
export const WORKER_DIED = "a worker died at its task";
const ATTEMPTS = 2;
const POLL_MILLISECONDS = 10;

/**
 * The Python workers of one job: a host process that imports the libraries once and forks workers, or the gateway to a cluster, whose slots
 * are the workers. A worker that dies affects one task. The pool tries that task once more on a new worker, and then fails it as
 * `engine_crashed`; the other tasks go on. No process of the pool outlives this one, however it ends.
 */
export class EnginePool {
  /** The versions in use, once the libraries are imported; rejects with `engine_unavailable`. */
  readonly greeting: Promise<Greeting>;
  /** How much it can do at a time: known at once, or for a cluster once it is connected; rejects as `greeting` does. */
  readonly capacity: Promise<Capacity>;
  readonly #greeted: PromiseWithResolvers<Greeting> = Promise.withResolvers();
  readonly #options: PoolOptions;
  /** First come, first served. A task here is never running at the same time. */
  readonly #queue: PendingTask[] = [];
  /**
   * The unsettled tasks of each signal, which has a single listener: a signal searches all its listeners whenever it gets another one, which
   * takes longer than the fits if ten thousand tasks wait.
   */
  readonly #bySignal = new WeakMap<AbortSignal, Set<PendingTask>>();
  /** Tasks at a time on this machine. */
  #limit: number;
  readonly #cluster: ClusterBackend | undefined;
  readonly #workers: Workers;
  readonly #host: EngineHost;
  readonly #memoryWatch: NodeJS.Timeout;
  #greetedBy: Greeting | undefined;
  /** Set once the pool accepts no more tasks. */
  #failure: MucastError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: PoolOptions) {
    const { cluster, log = () => undefined } = options;
    this.#options = options;
    this.greeting = this.#greeted.promise;
    this.greeting.catch(() => undefined); // The promise of every task rejects as well.
    this.#cluster = cluster && new ClusterBackend({ ...options, cluster, greeting: this.greeting });
    this.#limit = Math.max(1, options.workers ?? availableParallelism());
    const local = { slots: this.#limit, cpus: this.#limit, gpus: 1 };
    this.capacity = this.#cluster?.capacity ?? Promise.resolve(local);
    this.#workers = new Workers(() => this.#host);
    this.#host = new EngineHost({
      ...options,
      log,
      onMessage: (message) => this.#onMessage(message),
      onEnd: (end, error) => this.#onHostEnd(end, error),
    });
    this.#memoryWatch = watchMemory({
      limitBytes: options.memoryLimitBytes,
      base: () => this.#basePids(),
      workers: this.#workers,
      fail: (error) => this.#failAll(error),
    });
  }

  /** Returns at once; tasks may be submitted while the host imports. */
  static start(options: PoolOptions): EnginePool {
    return new EnginePool(options);
  }

  /**
   * Runs `task` on the next free worker, first come first served.
   * @throws MucastError of the task (such as `fit_failed`, `diverged` or `device_unavailable`), `engine_crashed`
   *   with `ticker` if the worker died twice on it, `engine_unavailable`, or `canceled` after `close`; the reason
   *   of `signal` if that was aborted, once the task's worker has ended.
   */
  run<T extends EngineTask>(
    task: T,
    { signal, onProgress, ...needs }: RunOptions<T> = {},
  ): Promise<ResultOf<T>> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const pending: PendingTask = {
        ...needs,
        task,
        // The engine's reports for a task are those that the protocol defines for its kind.
        onProgress: onProgress as PendingTask["onProgress"],
        deaths: [],
        attempts: 0,
        settle: (outcome) => {
          if (signal) this.#bySignal.get(signal)?.delete(pending);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result as ResultOf<T>);
        },
      };
      if (signal) this.#tasksOf(signal).add(pending);
      this.#queue.push(pending);
      this.#dispatch();
    });
  }

  #tasksOf(signal: AbortSignal): Set<PendingTask> {
    const known = this.#bySignal.get(signal);
    if (known) return known;
    const tasks = new Set<PendingTask>();
    this.#bySignal.set(signal, tasks);
    const onAbort = () => {
      for (const task of tasks) this.#abort(task, signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    return tasks;
  }

  #abort(task: PendingTask, reason: unknown): void {
    const at = this.#queue.indexOf(task);
    if (at >= 0) {
      this.#queue.splice(at, 1);
      task.settle({ error: reason });
      return;
    }
    task.aborted = { reason };
    const worker = this.#workers.find(({ busy }) => busy?.task === task);
    if (worker) this.#workers.kill(worker);
  }

  /** Changes how many tasks run at a time on this machine; running tasks continue. No effect with a cluster. */
  setWorkers(workers: number): void {
    this.#limit = Math.max(1, workers);
    this.#dispatch();
  }

  /** Bytes that this process and the host hold, without those of the workers; 0 if there is no /proc (macOS). */
  heldBytes(): number {
    return memoryOf(this.#basePids(), 0);
  }

  #basePids(): readonly number[] {
    return [process.pid, this.#host.pid ?? []].flat();
  }

  /** Kills the workers, fails the tasks, and returns when every process of the pool has ended, except a warm host that it releases. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const isSound = this.#failure === undefined;
    this.#fail(new MucastError("canceled", "the engine was closed before the task ended"));
    const endWorkers = () => {
      this.#workers.killAll();
      return this.#workers.untilNone();
    };
    const pids = [...this.#workers].flatMap(({ pid }) => pid ?? []);
    const isReleased = isSound && (await this.#host.release(endWorkers));
    if (!isReleased) await this.#host.close();
    // The kernel kills the workers that a killed host leaves; they are no children of this process.
    for (let looks = 0; looks < 500 && pids.some(isRunning); looks++) await pause(POLL_MILLISECONDS);
    clearInterval(this.#memoryWatch);
  }

  /** Assigns waiting tasks to free workers, as long as there are both. */
  #dispatch(): void {
    while (this.#host.isReady && this.#queue.length > 0) {
      const worker = this.#workers.findFree(this.#cluster?.limit ?? this.#limit);
      if (worker === undefined) return;
      const task = this.#queue.shift()!;
      this.#workers.assign(worker, task, this.#cluster?.resources(task));
    }
  }

  #onMessage(message: EngineMessage): void {
    switch (message.event) {
      case "ready": {
        const { event: _, ...greeting } = message;
        const fault = this.#cluster?.onGreeting(greeting, this.#greetedBy);
        this.#greetedBy = greeting;
        this.#greeted.resolve(greeting);
        if (fault) this.#failAll(fault);
        break;
      }
      case "worker_started":
        this.#workers.onStarted(message.worker, message.pid);
        return;
      case "worker_exited":
        this.#onWorkerEnd(
          this.#workers.onExited(message.worker),
          endOf(message),
          "attempts" in message ? message.attempts : 1,
        );
        break;
      case "failed": {
        const isLater = this.#greetedBy !== undefined && !this.#host.isReady;
        this.#fail(
          this.#cluster?.faultError(message, isLater) ?? importError(this.#options.python, message.message),
        );
        this.#host.stop();
        return;
      }
      case "slots":
        this.#cluster?.onSlots(message);
        break;
      case "delayed":
        this.#cluster?.onDelayed(
          message.message,
          message.id === undefined ? undefined : this.#workers.at(message.id)?.busy?.task,
        );
        return;
      case "progress":
        this.#workers.at(message.id)?.busy?.task.onProgress?.(message);
        return;
      case "result": {
        this.#workers.finish(message.id)?.settle({ result: message.result });
        break;
      }
      case "error": {
        const task = this.#workers.finish(message.id);
        task?.settle({ error: taskError(task, message) });
        break;
      }
      default:
        message satisfies never;
    }
    this.#dispatch();
  }

  #onWorkerEnd(worker: Worker | undefined, reason: string, attempts: number): void {
    if (!worker?.busy) return;
    const { killReason, killed, busy } = worker;
    const why = killReason?.details ?? reason;
    if (!killed || killReason) this.#options.log?.(`${WORKER_DIED}: ${why}`);
    if (!killed) this.#cluster?.onLost(busy.task, why);
    this.#retry(busy.task, why, killReason?.mayEndBetter, attempts);
  }

  #retry(task: PendingTask, reason: string, mayEndBetter = true, attempts = 1): void {
    task.deaths.push(reason);
    task.attempts += attempts;
    if (task.aborted) task.settle({ error: task.aborted.reason });
    else if (this.#failure) task.settle({ error: this.#failure });
    else if (mayEndBetter && task.attempts < ATTEMPTS) this.#queue.unshift(task);
    else task.settle({ error: crashError(task, this.#cluster !== undefined) });
  }

  /** @returns whether to start another host. */
  #onHostEnd(end: HostEnd, error: MucastError | undefined): boolean {
    const running = this.#workers.onHostEnd();
    if (error) this.#fail(error);
    const name = this.#cluster ? "the gateway to the cluster" : "its host";
    for (const task of running) this.#retry(task, `${name} ended (${end.reason})`);
    return this.#failure === undefined;
  }

  /** Accepts no more tasks, and kills the workers of running ones. */
  #failAll(error: MucastError): void {
    if (this.#failure) return;
    this.#fail(error);
    this.#workers.killAll();
  }

  /** Accepts no more tasks: waiting ones fail now, running ones when their worker has ended. */
  #fail(error: MucastError): void {
    this.#failure ??= error;
    this.#greeted.reject(this.#failure);
    for (const task of this.#queue.splice(0)) task.settle({ error: this.#failure });
  }
}
