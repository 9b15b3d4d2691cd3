import type { EngineTask, TaskProgress } from "./protocol.ts";

/** A task that a caller of the pool waits for. Each attempt at it is a request of its own to the engine, with a new id. */
export interface PendingTask {
  readonly task: EngineTask;
  /** The node of a cluster that it has to run on. */
  readonly node?: string | undefined;
  readonly onProgress: ((progress: TaskProgress) => void) | undefined;
  /** Resolves or rejects the caller's promise. */
  readonly settle: (outcome: { readonly result: unknown } | { readonly error: unknown }) => void;
  /** How each attempt so far ended, where its worker died. */
  readonly deaths: string[];
  /** Set once the caller's signal has fired. */
  aborted?: { readonly reason: unknown };
}

/** The tasks that wait for a worker, first come first served. No task waits here and runs at the same time. */
export class TaskQueue {
  readonly #tasks: PendingTask[] = [];

  get isEmpty(): boolean {
    return this.#tasks.length === 0;
  }

  add(task: PendingTask): void {
    this.#tasks.push(task);
  }

  /** Puts a task whose worker died before all others. */
  addFirst(task: PendingTask): void {
    this.#tasks.unshift(task);
  }

  /** Takes out the next one. */
  take(): PendingTask | undefined {
    return this.#tasks.shift();
  }

  /** @returns false where it does not wait here. */
  remove(task: PendingTask): boolean {
    const at = this.#tasks.indexOf(task);
    if (at >= 0) this.#tasks.splice(at, 1);
    return at >= 0;
  }

  /** Takes out all of them, and rejects each. */
  fail(error: unknown): void {
    for (const task of this.#tasks.splice(0)) task.settle({ error });
  }
}
