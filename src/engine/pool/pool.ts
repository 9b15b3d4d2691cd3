import type { ClusterEngine } from "../../contract/engine-url.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { KernelLevel } from "../environment/kernel-level.ts";
import { memoryOf } from "../process-memory.ts";
import { AbortListeners } from "./abort-listeners.ts";
import { ClusterBackend } from "./cluster-backend.ts";
import type { Capacity } from "./cluster-capacity.ts";
import { endOf, resultError, taskError } from "./engine-errors.ts";
import { EngineHost } from "./engine-host.ts";
import { type PendingTask, TaskQueue } from "./engine-task.ts";
import type { HostEnd } from "./host-process.ts";
import { LocalBackend } from "./local-backend.ts";
import { MemoryWatch } from "./memory-watch.ts";
import type { PoolBackend } from "./pool-backend.ts";
import type { EngineMessage, EngineTask, Greeting, ProgressOf, ResultOf } from "./protocol.ts";
import { resultFault } from "./task-results.ts";
import type { WarmHost } from "./warm-host.ts";
import { type Worker, Workers } from "./workers.ts";

export interface PoolOptions {
  /** Interpreter of an environment that has the libraries. */
  readonly python: string;
  /** Modules to import: sklearn, xgboost, lightgbm, catboost, torch. Only those that the job's tasks need. */
  readonly libraries: readonly string[];
  /** Tasks at a time, with one thread each; by default the cores this process may use, or all slots of the cluster. */
  readonly workers?: number | undefined;
  /** Folder of the arrays that tasks name. Tasks neither read nor write outside it. */
  readonly workFolder: string;
  /**
   * Memory limit of this process, the host and all workers together, without mapped files. Beyond it, the largest worker is killed, or the
   * pool fails (Linux).
   */
  readonly memoryLimitBytes?: number;
  /**
   * Time for the host to kill a worker before this process does it, and again as long for the host; 4 s. A gateway that takes longer than
   * 15 s to cancel a task is killed.
   */
  readonly killGraceMilliseconds?: number;
  /** How long the host or a worker may be stopped (SIGSTOP) before it is killed; 2 minutes (Linux). */
  readonly stoppedMilliseconds?: number;
  /** How the host starts workers, unless the engine should decide. */
  readonly start?: "fork" | "spawn";
  /** The level to which the libraries' kernels are pinned; by default each library chooses by the processor. */
  readonly kernelLevel?: KernelLevel | undefined;
  /**
   * A host with the same interpreter and work folder, not pinned, to start with; `close` releases it if it suits another pool. If it has
   * ended, the pool starts its own.
   */
  readonly warmHost?: WarmHost | undefined;
  /** The cluster to compute on, in place of this machine; `python` must then have Ray. */
  readonly cluster?: ClusterEngine | undefined;
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
  readonly #log: (line: string) => void;
  readonly #queue = new TaskQueue();
  readonly #aborts = new AbortListeners();
  readonly #backend: PoolBackend;
  readonly #workers: Workers;
  readonly #host: EngineHost;
  readonly #memory: MemoryWatch;
  #greetedBy: Greeting | undefined;
  /** Set once the pool accepts no more tasks. */
  #failure: MucastError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(given: PoolOptions) {
    const { memoryLimitBytes, log = () => undefined, ...options } = given;
    const { cluster } = options;
    this.#log = log;
    this.greeting = this.#greeted.promise;
    this.greeting.catch(() => undefined); // The promise of every task rejects as well.
    this.#backend = cluster
      ? new ClusterBackend({ ...options, cluster, greeting: this.greeting })
      : new LocalBackend(options);
    this.capacity = this.#backend.capacity;
    this.#workers = new Workers({
      limit: this.#backend.limit,
      send: (request, task) => this.#host.send(request, task),
      killHost: () => this.#host.kill(),
      killGraceMilliseconds: this.#backend.killGraceMilliseconds,
      resources: (task) => this.#backend.resources(task),
    });
    this.#host = new EngineHost({
      ...options,
      log,
      onMessage: (message) => this.#onMessage(message),
      onEnd: (end, error) => this.#onHostEnd(end, error),
    });
    this.#memory = new MemoryWatch({
      limitBytes: memoryLimitBytes,
      base: () => this.#base(),
      workers: this.#workers,
      kill: (worker, reason) => this.#workers.kill(worker, reason),
      fail: (error) => this.#failAll(error),
    });
    this.#backend.watch(this.#host, this.#workers);
  }

  /** Starts the host and returns at once; tasks may be submitted while it imports. */
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
    { signal, onProgress, node, memoryBytes }: RunOptions<T> = {},
  ): Promise<ResultOf<T>> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#abort(pending, signal?.reason);
      const pending: PendingTask = {
        task,
        node,
        memoryBytes,
        // The engine's reports for a task are those that the protocol defines for its kind.
        onProgress: onProgress as PendingTask["onProgress"],
        deaths: [],
        attempts: 0,
        settle: (outcome) => {
          if (signal) this.#aborts.remove(signal, onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result as ResultOf<T>);
        },
      };
      if (signal) this.#aborts.add(signal, onAbort);
      this.#queue.add(pending);
      this.#dispatch();
    });
  }

  /** Changes how many tasks run at a time on this machine; running tasks continue. No effect with a cluster. */
  setWorkers(workers: number): void {
    this.#backend.setWorkers(workers);
    this.#workers.limit = this.#backend.limit;
    this.#dispatch();
  }

  /** Bytes that this process and the host hold, without those of the workers; 0 if there is no /proc (macOS). */
  heldBytes(): number {
    return memoryOf(this.#base(), 0);
  }

  #base(): readonly number[] {
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
    const isReleased = isSound && (await this.#host.release(() => this.#killWorkers()));
    if (!isReleased) await this.#host.close();
    this.#memory.stop();
    this.#backend.stop();
  }

  #killWorkers(): Promise<void> {
    this.#workers.killAll();
    return this.#workers.untilNone();
  }

  /** Assigns waiting tasks to free workers, as long as there are both. */
  #dispatch(): void {
    if (!this.#host.isReady) return;
    while (!this.#queue.isEmpty) {
      const worker = this.#workers.free();
      if (worker === undefined) return;
      this.#workers.give(worker, this.#queue.take()!);
    }
  }

  #abort(task: PendingTask, reason: unknown): void {
    if (this.#queue.remove(task)) {
      task.settle({ error: reason });
      return;
    }
    task.aborted = { reason };
    this.#workers.killAt(task);
  }

  #onMessage(message: EngineMessage): void {
    switch (message.event) {
      case "ready": {
        const { event: _, ...greeting } = message;
        this.#onGreeting(greeting);
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
      case "failed":
        this.#fail(this.#backend.faultError(message, this.#greetedBy !== undefined && !this.#host.isReady));
        this.#host.stop();
        return;
      case "slots":
        this.#backend.onSlots(message);
        this.#workers.limit = this.#backend.limit;
        break;
      case "delayed":
        this.#backend.onDelayed(
          message.message,
          message.id === undefined ? undefined : this.#workers.taskOf(message.id),
        );
        return;
      case "progress":
        this.#workers.taskOf(message.id)?.onProgress?.(message);
        return;
      case "result":
        this.#onResult(this.#workers.finish(message.id), message.result);
        break;
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

  /** Also the greeting of a gateway that replaced one that ended. */
  #onGreeting(greeting: Greeting): void {
    const before = this.#greetedBy;
    this.#greetedBy = greeting;
    this.#greeted.resolve(greeting);
    const fault = this.#backend.onGreeting(greeting, before);
    this.#workers.limit = this.#backend.limit;
    if (fault) this.#failAll(fault);
  }

  #onWorkerEnd(worker: Worker | undefined, reason: string, attempts: number): void {
    if (!worker?.busy) return;
    const { killReason, killed, busy } = worker;
    const why = killReason?.details ?? reason;
    if (!killed || killReason) this.#log(`${WORKER_DIED}: ${why}`);
    if (!killed) this.#backend.onLost(busy.task, why);
    this.#retry(busy.task, why, killReason?.mayEndBetter, attempts);
  }

  #onResult(task: PendingTask | undefined, result: unknown): void {
    if (!task) return;
    const fault = resultFault(task.task, result);
    task.settle(fault === undefined ? { result } : { error: resultError(task, fault) });
  }

  /** Handles the death of a task's worker. */
  #retry(task: PendingTask, reason: string, mayEndBetter = true, attempts = 1): void {
    task.deaths.push(reason);
    task.attempts += attempts;
    if (task.aborted) task.settle({ error: task.aborted.reason });
    else if (this.#failure) task.settle({ error: this.#failure });
    else if (mayEndBetter && task.attempts < ATTEMPTS) this.#queue.addFirst(task);
    else task.settle({ error: this.#backend.crashError(task) });
  }

  /** @returns whether to start another host. */
  #onHostEnd(end: HostEnd, error: MucastError | undefined): boolean {
    const running = this.#workers.onHostEnd();
    if (error) this.#fail(error);
    for (const task of running) this.#retry(task, `${this.#backend.hostName} ended (${end.reason})`);
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
    this.#queue.fail(this.#failure);
  }
}
