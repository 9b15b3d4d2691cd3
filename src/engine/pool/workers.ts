import type { MucastError } from "../../contract/errors/errors.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { memoryOf, mib, outOfMemory, privateMemory } from "../process-memory.ts";
import type { EngineHost } from "./engine-host.ts";
import type { EngineTask, TaskProgress, TaskResources } from "./protocol.ts";

/** A task that a caller of the pool waits for. Each attempt at it is a separate request to the engine, with a new id. */
export interface PendingTask {
  readonly task: EngineTask;
  /** The cluster node that it has to run on. */
  readonly node?: string | undefined;
  /** Bytes that it reserves there. */
  readonly memoryBytes?: number | undefined;
  readonly onProgress: ((progress: TaskProgress) => void) | undefined;
  readonly settle: (outcome: { readonly result: unknown } | { readonly error: unknown }) => void;
  /** How failed attempts ended, if the worker died; of those that a cluster made by itself, the last one. */
  readonly deaths: string[];
  attempts: number;
  aborted?: { readonly reason: unknown };
}

/** A worker process, or a slot of a cluster, from the request to start it until the host reports its end. */
export interface Worker {
  readonly number: number;
  /** Known once the host has started it; a slot has none. */
  pid?: number | undefined;
  /** The attempt that it works on. */
  busy?: { readonly id: number; readonly task: PendingTask };
  /** The host has been asked to kill it; runs until the host reports its end. */
  killed?: NodeJS.Timeout;
  /** Why a watch, and not its caller, had it killed, and whether a second attempt at its task may end better. */
  killReason?: { readonly details: string; readonly mayEndBetter: boolean } | undefined;
}

/** The workers of the current host and their tasks. A worker has one task at a time. */
export class Workers {
  readonly #host: () => EngineHost;
  readonly #byNumber = new Map<number, Worker>();
  /** The last number of a worker, or id of an attempt, that was assigned. */
  #counter = 0;
  #onNone: (() => void) | undefined;

  constructor(host: () => EngineHost) {
    this.#host = host;
  }

  [Symbol.iterator](): IterableIterator<Worker> {
    return this.#byNumber.values();
  }

  find(isWanted: (worker: Worker) => boolean): Worker | undefined {
    return this.#byNumber.values().find(isWanted);
  }

  /** The worker of attempt `id`. */
  at(id: number): Worker | undefined {
    return this.find(({ busy }) => busy?.id === id);
  }

  /** A worker without a task, newly started if there is none; undefined if `limit` workers are busy. */
  findFree(limit: number): Worker | undefined {
    let free: Worker | undefined;
    let busy = 0;
    for (const worker of this) {
      if (worker.busy || worker.killed) busy++;
      else free = worker;
    }
    if (busy >= limit) return undefined;
    if (free || this.#byNumber.size >= limit) return free;
    const worker: Worker = { number: ++this.#counter };
    this.#byNumber.set(worker.number, worker);
    this.#host().send({ op: "start", worker: worker.number });
    return worker;
  }

  assign(worker: Worker, task: PendingTask, resources?: TaskResources): void {
    const id = ++this.#counter;
    worker.busy = { id, task };
    const { label: _, ...sent } = task.task;
    this.#host().send({ op: "task", worker: worker.number, id, ...resources }, sent);
  }

  /**
   * Removes the task of attempt `id`, which has its answer, from its worker.
   * @returns undefined if the worker is being killed: its end is then the answer, so that no work on the task continues once it is settled.
   */
  finish(id: number): PendingTask | undefined {
    const worker = this.at(id);
    if (!worker?.busy || worker.killed) return undefined;
    const { task } = worker.busy;
    delete worker.busy;
    return task;
  }

  /**
   * Has the host kill a worker and whatever it started. If the host does not report its end within the grace period, for example because it
   * was stopped, this process kills the host, and with it all of its workers.
   */
  kill(worker: Worker, reason?: Worker["killReason"]): void {
    worker.killReason ??= reason;
    const host = this.#host();
    host.send({ op: "kill", worker: worker.number });
    const killHost = () => {
      if (this.#byNumber.get(worker.number) === worker) host.kill();
    };
    // What the host wrote while this process was not running is read before the next immediate.
    worker.killed ??= setTimeout(() => setImmediate(killHost), host.graceMilliseconds);
  }

  killAll(): void {
    for (const worker of this) this.kill(worker);
  }

  onStarted(number: number, pid: number | undefined): void {
    const worker = this.#byNumber.get(number);
    if (worker) worker.pid = pid;
  }

  /** @returns the worker in its last state. */
  onExited(number: number): Worker | undefined {
    const worker = this.#byNumber.get(number);
    this.#byNumber.delete(number);
    clearTimeout(worker?.killed);
    if (this.#byNumber.size === 0) this.#onNone?.();
    return worker;
  }

  /** The host has ended together with its workers. @returns the tasks that they worked on. */
  onHostEnd(): PendingTask[] {
    const tasks = [...this].flatMap(({ busy }) => busy?.task ?? []);
    for (const { killed } of this) clearTimeout(killed);
    this.#byNumber.clear();
    return tasks;
  }

  /** Fulfilled once the host has reported the end of every worker. */
  untilNone(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#byNumber.size === 0) resolve();
    });
  }
}

const MEMORY_INTERVAL_MILLISECONDS = 200;

/**
 * Kills the largest worker when the processes of a job together exceed the limit, before the system's out-of-memory killer picks a process
 * by its own rules. If this process and the host hold more than any worker, no ticker is to blame, and the job fails.
 * @param options.base pids of this process and the host.
 * @param options.fail called if the job would exceed the limit even without its largest worker.
 * @returns the timer that ends the watch when it is cleared.
 */
export function watchMemory(options: {
  readonly limitBytes: number | undefined;
  readonly base: () => readonly number[];
  readonly workers: Workers;
  readonly fail: (error: MucastError) => void;
}): NodeJS.Timeout {
  const { limitBytes: limit = defaultMemoryBytes(), workers } = options;
  const look = () => {
    const base = options.base();
    const living = [...workers].flatMap((worker) =>
      worker.killed || worker.pid === undefined ? [] : { worker, pid: worker.pid },
    );
    const together = memoryOf([...base, ...living.map(({ pid }) => pid)], limit);
    if (together <= limit) return;
    const sized = living.map((entry) => ({ ...entry, bytes: privateMemory(entry.pid) }));
    const largest = sized.toSorted((a, b) => b.bytes - a.bytes)[0];
    const ours = memoryOf(base, 0);
    if (largest === undefined || largest.bytes < ours) {
      options.fail(outOfMemory({ held: together, together, limit, share: limit, jobs: 1 }));
      return;
    }
    const details =
      `it held ${mib(largest.bytes)} of memory when the processes of the job together held ${mib(together)}, ` +
      `over the limit of ${mib(limit)}`;
    workers.kill(largest.worker, { details, mayEndBetter: largest.bytes + ours <= limit });
  };
  return setInterval(look, MEMORY_INTERVAL_MILLISECONDS).unref();
}
