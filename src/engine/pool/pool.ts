import { availableParallelism } from "node:os";
import { isDeepStrictEqual } from "node:util";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { StoppedWatch } from "../../contract/machine/stopped-watch.ts";
import type { KernelLevel } from "../environment/kernel-level.ts";
import { memoryOf } from "../process-memory.ts";
import { AbortListeners } from "./abort-listeners.ts";
import { type Capacity, capacityOf, resourcesOf, tasksAtGateway } from "./cluster-capacity.ts";
import { ClusterNotices } from "./cluster-notices.ts";
import {
  changedClusterError,
  clusterError,
  crashError,
  endOf,
  importError,
  lostClusterError,
  resultError,
  taskError,
} from "./engine-errors.ts";
import { EngineHost } from "./engine-host.ts";
import { type PendingTask, TaskQueue } from "./engine-task.ts";
import type { HostEnd } from "./host-process.ts";
import { MemoryWatch } from "./memory-watch.ts";
import type {
  EngineFault,
  EngineMessage,
  EngineTask,
  Greeting,
  ProgressOf,
  ResultOf,
  TaskProgress,
} from "./protocol.ts";
import { isProgressOf, resultFault } from "./task-results.ts";
import type { WarmHost } from "./warm-host.ts";
import { type Worker, Workers } from "./workers.ts";

export interface PoolOptions {
  /** Interpreter of an environment that has the libraries. */
  readonly python: string;
  /** Modules to import: sklearn, xgboost, lightgbm, catboost, torch. Only what the job's tasks need. */
  readonly libraries: readonly string[];
  /** Tasks at a time, each on one thread; by default the cores this process may use, or all slots of the cluster. */
  readonly workers?: number | undefined;
  /** Folder of the arrays that tasks name; no task reads or writes outside it. */
  readonly workFolder: string;
  /**
   * Memory of this process, the host and all workers together, files they have mapped aside; over it the largest worker
   * is killed, or the pool fails (Linux).
   */
  readonly memoryLimitBytes?: number;
  /**
   * How long the host may take to kill a worker, before this process does that, and as long again for the host; 4 s. A
   * gateway that takes longer to cancel a task is killed; 15 s.
   */
  readonly killGraceMilliseconds?: number;
  /** How long the host or a worker may be stopped (SIGSTOP) before it is killed; 2 minutes (Linux). */
  readonly stoppedMilliseconds?: number;
  /** How long a gateway may take until it takes tasks, before it is killed; 15 minutes. */
  readonly connectMilliseconds?: number;
  /** How the host starts workers, if the engine should not decide. */
  readonly start?: "fork" | "spawn";
  /** What the libraries' kernels are pinned to; by default each picks its own by the processor. */
  readonly kernelLevel?: KernelLevel | undefined;
  /**
   * A host of the same interpreter, pinned to nothing, and work folder to begin with; `close` releases it if it is fit for another pool.
   * Where it has ended, the pool starts one of its own.
   */
  readonly warmHost?: WarmHost | undefined;
  /** The cluster to compute on, in place of this machine; `python` is one that has Ray then. */
  readonly cluster?: ClusterEngine | undefined;
  /** Gets what the libraries print, line by line, and a line for each worker that died at a task. */
  readonly log?: (line: string) => void;
  /** Gets a line for what happens to a cluster: nodes that come and go, tasks that wait or are lost. Of bounded number. */
  readonly notice?: ((line: string) => void) | undefined;
}

interface RunOptions<T extends EngineTask = EngineTask> {
  /** Kills the worker of this task, and whatever it started, at once. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ProgressOf<T>) => void;
  /** The node of a cluster that it has to run on, by its name; the cluster chooses by default. */
  readonly node?: string | undefined;
  /** Bytes that it reserves on its node of a cluster. */
  readonly memoryBytes?: number | undefined;
}

/** How the pool's log line about a worker's death begins. */
export const WORKER_DIED = "a worker died at its task";
const ATTEMPTS = 2;

/** In which a gateway cancels a task; its node may answer late. */
const CLUSTER_KILL_GRACE_MILLISECONDS = 15_000;

/**
 * The Python workers of one job: a host process that imports the libraries once, and workers forked from it; or the
 * gateway to a cluster, and slots of the cluster.
 *
 * A worker that dies takes one task along. The pool tries that task once more on a new worker, and then fails it as
 * `engine_crashed`; the other tasks go on. No process of the pool outlives this one, however it ends.
 */
export class EnginePool {
  /** The versions in use, once the libraries are imported; rejects with `engine_unavailable`. */
  readonly greeting: Promise<Greeting>;
  /** How much it can do at a time: at once, or of a cluster once that is connected; rejects as `greeting` does. */
  readonly capacity: Promise<Capacity>;
  readonly #greeted: PromiseWithResolvers<Greeting> = Promise.withResolvers();
  readonly #python: string;
  readonly #log: (line: string) => void;
  readonly #queue = new TaskQueue();
  readonly #aborts = new AbortListeners();
  readonly #workers: Workers;
  readonly #host: EngineHost;
  readonly #memory: MemoryWatch;
  /** Undefined with a cluster, whose gateway has a watch of its own. */
  readonly #stopped: StoppedWatch | undefined;
  readonly #cluster: ClusterEngine | undefined;
  /** The most tasks at a time, however many slots a cluster has. */
  readonly #most: number;
  readonly #notices: ClusterNotices;
  #greetedBy: Greeting | undefined;
  /** Set once the pool takes no more tasks. */
  #failure: MucastError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(given: PoolOptions) {
    const {
      workers,
      memoryLimitBytes,
      killGraceMilliseconds,
      stoppedMilliseconds,
      log = () => undefined,
      notice,
      ...options
    } = given;
    const { cluster } = options;
    this.#python = options.python;
    this.#log = log;
    this.#cluster = cluster;
    this.#notices = new ClusterNotices(notice ?? (() => undefined));
    this.greeting = this.#greeted.promise;
    this.greeting.catch(() => undefined); // The promise of every task rejects as well.
    this.#most = Math.max(1, workers ?? (cluster ? Number.POSITIVE_INFINITY : availableParallelism()));
    this.capacity = cluster
      ? this.greeting.then((greeting) => capacityOf(greeting, this.#most))
      : Promise.resolve({ slots: this.#most, cpus: this.#most, gpus: 1 });
    this.capacity.catch(() => undefined);
    this.#workers = new Workers({
      limit: cluster ? 0 : this.#most,
      send: (request, task) => this.#host.send(request, task),
      killHost: () => this.#host.kill(),
      killGraceMilliseconds: killGraceMilliseconds ?? (cluster && CLUSTER_KILL_GRACE_MILLISECONDS),
      resources:
        cluster &&
        (({ task, node, memoryBytes }) => ({
          ...resourcesOf(task),
          ...(node === undefined ? {} : { node }),
          ...(memoryBytes === undefined ? {} : { memory: memoryBytes }),
        })),
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
    this.#stopped = cluster ? undefined : new StoppedWatch(() => this.#processes(), stoppedMilliseconds);
  }

  /** Starts the host and returns at once; tasks may be given while it imports. */
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
        // The engine reports for a task what the protocol states for its kind.
        onProgress: onProgress as PendingTask["onProgress"],
        deaths: [],
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

  /** Bytes that this process and the host hold, besides those of the workers; 0 if there is no /proc (macOS). */
  heldBytes(): number {
    return memoryOf(this.#base(), 0);
  }

  #base(): readonly number[] {
    return [process.pid, this.#host.pid ?? []].flat();
  }

  /**
   * Kills the workers, fails the tasks, and returns when every process of the pool has ended, but for a warm host that it
   * releases.
   */
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
    this.#stopped?.stop();
  }

  *#processes() {
    yield { pid: this.#host.pid, onStopped: (why: string) => this.#host.kill(why) };
    for (const worker of this.#workers) {
      const onStopped = (words: string) => this.#workers.kill(worker, { words, mayEndBetter: true });
      if (!worker.killed) yield { pid: worker.pid, onStopped };
    }
  }

  #killWorkers(): Promise<void> {
    this.#workers.killAll();
    return this.#workers.untilNone();
  }

  /** Gives waiting tasks to free workers, as long as there are both. */
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
        this.#onWorkerEnd(this.#workers.onExited(message.worker), endOf(message));
        break;
      case "failed":
        this.#fail(this.#errorOf(message));
        this.#host.stop();
        return;
      case "slots":
        this.#workers.limit = tasksAtGateway(message.slots, this.#most);
        this.#notices.changed(message);
        break;
      case "delayed": {
        const label = message.id === undefined ? undefined : this.#workers.taskOf(message.id)?.task.label;
        this.#notices.say(label === undefined ? message.message : `${label}: ${message.message}`);
        return;
      }
      case "heartbeat":
        return;
      case "progress":
        this.#onProgress(this.#workers.taskOf(message.id), message);
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

  /** Of a gateway that took the place of one that ended, too. */
  #onGreeting(greeting: Greeting): void {
    const before = this.#greetedBy;
    this.#greetedBy = greeting;
    this.#greeted.resolve(greeting);
    if (this.#cluster === undefined) return;
    this.#workers.limit = tasksAtGateway(greeting.slots ?? 0, this.#most);
    if (before && !areAlike(before, greeting)) this.#failAll(changedClusterError(this.#cluster));
  }

  /** Why there is no engine, as the host or the gateway tells it. */
  #errorOf(fault: EngineFault): MucastError {
    if (this.#cluster === undefined) return importError(this.#python, fault.message);
    const error = clusterError(this.#cluster, fault);
    const isSecond = this.#greetedBy !== undefined && !this.#host.isReady;
    return isSecond ? lostClusterError(this.#cluster, error) : error;
  }

  #onWorkerEnd(worker: Worker | undefined, words: string): void {
    if (!worker?.busy) return;
    const { killReason, killed, busy } = worker;
    const why = killReason?.words ?? words;
    if (!killed || killReason) this.#log(`${WORKER_DIED}: ${why}`);
    if (!killed && this.#cluster) this.#notices.say(`${busy.task.task.label ?? "a task"} was lost: ${why}`);
    this.#retry(busy.task, why, killReason?.mayEndBetter);
  }

  /** What is no progress of the task is passed over: it decides no byte of the output. */
  #onProgress(task: PendingTask | undefined, progress: TaskProgress): void {
    if (task && isProgressOf(task.task, progress)) task.onProgress?.(progress);
  }

  /** A node of a cluster may answer anything, and another node well; the engine of this machine would answer the same again. */
  #onResult(task: PendingTask | undefined, result: unknown): void {
    if (!task) return;
    const fault = resultFault(task.task, result, this.#cluster === undefined);
    if (fault === undefined) task.settle({ result });
    else if (this.#cluster)
      this.#retry(task, `its node answered with something else than a result: ${fault}`);
    else task.settle({ error: resultError(task, fault) });
  }

  /** After the death of a task's worker. */
  #retry(task: PendingTask, words: string, mayEndBetter = true): void {
    task.deaths.push(words);
    if (task.aborted) task.settle({ error: task.aborted.reason });
    else if (this.#failure) task.settle({ error: this.#failure });
    else if (mayEndBetter && task.deaths.length < ATTEMPTS) this.#queue.addFirst(task);
    else task.settle({ error: crashError(task, this.#cluster) });
  }

  /** @returns whether another host is to be started. */
  #onHostEnd(end: HostEnd, error: MucastError | undefined): boolean {
    const running = this.#workers.onHostEnd();
    if (error) this.#fail(error);
    const host = this.#cluster ? "the gateway to the cluster" : "its host";
    for (const task of running) this.#retry(task, `${host} ended (${end.reason})`);
    return this.#failure === undefined;
  }

  /** Takes no more tasks, and kills the workers of those that run. */
  #failAll(error: MucastError): void {
    if (this.#failure) return;
    this.#fail(error);
    this.#workers.killAll();
  }

  /** Takes no more tasks: those that wait fail now, those that run when their worker has ended. */
  #fail(error: MucastError): void {
    this.#failure ??= error;
    this.#greeted.reject(this.#failure);
    this.#queue.fail(this.#failure);
  }
}

/** Whether what both compute with leaves the same bytes, so that one provenance speaks for both. */
function areAlike(one: Greeting, other: Greeting): boolean {
  const facts = ({ versions, threads, kernel_level, machine: { processor, ...kernels } }: Greeting) => {
    return [versions, threads, kernel_level, kernels, kernel_level === null ? processor : ""];
  };
  return isDeepStrictEqual(facts(one), facts(other));
}
