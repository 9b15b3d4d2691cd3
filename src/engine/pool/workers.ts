import type { PendingTask } from "./engine-task.ts";
import type { EngineRequest, TaskResources } from "./protocol.ts";

/** A worker process, or a slot of a cluster, from the request to start it until the host reports its end. */
export interface Worker {
  readonly number: number;
  /** Known once the host has started it; a slot has none. */
  pid?: number;
  /** The attempt that it works on. */
  busy?: { readonly id: number; readonly task: PendingTask };
  /** The host has been asked to kill it. */
  killed?: true;
  /** Runs until the host reports the end of a worker that it was asked to kill. */
  impatience?: NodeJS.Timeout;
  /** Set if a watch had it killed, and not its caller. */
  killReason?: KillReason;
}

/** Why a watch had a worker killed. */
export interface KillReason {
  /** Details, such as how much memory the worker and all processes of the job held. */
  readonly details: string;
  /** False if a second attempt at its task would end in the same way. */
  readonly mayEndBetter: boolean;
}

interface WorkersOptions {
  readonly limit: number;
  /** Writes a request to the current host. */
  readonly send: (request: EngineRequest, task?: object) => void;
  /** Kills the current host. */
  readonly killHost: () => void;
  /** Time for the host to report the end of a worker that it was asked to kill. */
  readonly killGraceMilliseconds?: number | undefined;
  /** What a task needs of a cluster; on this machine every worker has one core. */
  readonly resources?: ((task: PendingTask) => TaskResources) | undefined;
}

const KILL_GRACE_MILLISECONDS = 4_000;

/**
 * The workers of the current host and their tasks. A worker has one task at a time, and no task is sent while the limit of workers is busy.
 * The limit of a cluster changes with its nodes.
 */
export class Workers {
  limit: number;
  readonly #send: WorkersOptions["send"];
  readonly #killHost: () => void;
  readonly #killGrace: number;
  readonly #resources: WorkersOptions["resources"];
  readonly #byNumber = new Map<number, Worker>();
  /** The last number of a worker, or id of an attempt, that was assigned. */
  #counter = 0;
  #onNone: (() => void) | undefined;

  constructor({ limit, send, killHost, killGraceMilliseconds, resources }: WorkersOptions) {
    this.limit = limit;
    this.#send = send;
    this.#killHost = killHost;
    this.#killGrace = killGraceMilliseconds ?? KILL_GRACE_MILLISECONDS;
    this.#resources = resources;
  }

  [Symbol.iterator](): IterableIterator<Worker> {
    return this.#byNumber.values();
  }

  /** A worker without a task, newly started if there is none; undefined if as many as allowed are busy. */
  free(): Worker | undefined {
    let free: Worker | undefined;
    let busy = 0;
    for (const worker of this) {
      if (worker.busy || worker.killed) busy++;
      else free = worker;
    }
    return busy >= this.limit ? undefined : (free ?? this.#start());
  }

  #start(): Worker | undefined {
    if (this.#byNumber.size >= this.limit) return undefined;
    const worker: Worker = { number: ++this.#counter };
    this.#byNumber.set(worker.number, worker);
    this.#send({ op: "start", worker: worker.number });
    return worker;
  }

  /** Sends `task` to a worker that has none. */
  give(worker: Worker, task: PendingTask): void {
    const id = ++this.#counter;
    worker.busy = { id, task };
    const { label: _, ...sent } = task.task;
    this.#send({ op: "task", worker: worker.number, id, ...this.#resources?.(task) }, sent);
  }

  /** The task of attempt `id`. */
  taskOf(id: number): PendingTask | undefined {
    return this.#find((worker) => worker.busy?.id === id)?.busy?.task;
  }

  /**
   * Removes the task of attempt `id`, which has its answer, from its worker.
   * @returns undefined if the worker is being killed: its end is then the answer, so that no work on the task continues once it is settled.
   */
  finish(id: number): PendingTask | undefined {
    const worker = this.#find((candidate) => candidate.busy?.id === id);
    if (!worker?.busy || worker.killed) return undefined;
    const { task } = worker.busy;
    delete worker.busy;
    return task;
  }

  /**
   * Has the host kill a worker and whatever it started. If the host does not report its end within the grace period, for example because it
   * was stopped, this process kills the worker itself, and the host after another such period; if the host has not reported a pid, it kills
   * the host at once.
   */
  kill(worker: Worker, reason?: KillReason): void {
    worker.killed = true;
    if (reason !== undefined) worker.killReason = reason;
    this.#send({ op: "kill", worker: worker.number });
    worker.impatience ??= this.#unlessEnded(worker, () => {
      if (worker.pid === undefined) {
        this.#killHost();
        return;
      }
      killGroup(worker.pid);
      worker.impatience = this.#unlessEnded(worker, this.#killHost);
    });
  }

  /** Calls `act` after the grace period, unless the host has reported the end of the worker by then. */
  #unlessEnded(worker: Worker, act: () => void): NodeJS.Timeout {
    // What the host wrote while this process was not running is read before the next immediate.
    const later = () =>
      setImmediate(() => {
        if (this.#byNumber.get(worker.number) === worker) act();
      });
    return setTimeout(later, this.#killGrace);
  }

  killAll(): void {
    for (const worker of this) this.kill(worker);
  }

  /** Kills the worker that works on `task`, if there is one. */
  killAt(task: PendingTask): void {
    const worker = this.#find((candidate) => candidate.busy?.task === task);
    if (worker) this.kill(worker);
  }

  /** The host has started a worker. */
  onStarted(number: number, pid: number | undefined): void {
    const worker = this.#byNumber.get(number);
    if (worker && pid !== undefined) worker.pid = pid;
  }

  /** The host has reported the end of a worker. @returns the worker in its last state. */
  onExited(number: number): Worker | undefined {
    const worker = this.#byNumber.get(number);
    this.#byNumber.delete(number);
    clearTimeout(worker?.impatience);
    if (this.#byNumber.size === 0) this.#onNone?.();
    return worker;
  }

  /** The host has ended together with its workers. @returns the tasks that they worked on. */
  onHostEnd(): PendingTask[] {
    const tasks = [...this].flatMap(({ busy }) => busy?.task ?? []);
    for (const { impatience } of this) clearTimeout(impatience);
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

  #find(wanted: (worker: Worker) => boolean): Worker | undefined {
    for (const worker of this) if (wanted(worker)) return worker;
    return undefined;
  }
}

/** Workers lead process groups of their own. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
