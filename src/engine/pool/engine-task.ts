import type { EngineTask, TaskProgress } from "./protocol.ts";

/** A task that a caller of the pool waits for. Each attempt at it is a separate request to the engine, with a new id. */
export interface PendingTask {
  readonly task: EngineTask;
  /** The cluster node that it has to run on. */
  readonly node?: string | undefined;
  /** Bytes that it reserves there. */
  readonly memoryBytes?: number | undefined;
  readonly onProgress: ((progress: TaskProgress) => void) | undefined;
  /** Resolves or rejects the caller's promise. */
  readonly settle: (outcome: { readonly result: unknown } | { readonly error: unknown }) => void;
  /** How failed attempts ended, if the worker died; of those that a cluster made by itself, the last one. */
  readonly deaths: string[];
  /** The number of failed attempts. */
  attempts: number;
  /** Set once the caller's signal has fired. */
  aborted?: { readonly reason: unknown };
}

/** The tasks that wait for a worker, first come, first served. A task here is never running at the same time. */
export class TaskQueue {
  /** The next tasks in reverse order, and those after them, so that taking a task moves no other. */
  #next: PendingTask[] = [];
  #behind: PendingTask[] = [];

  get isEmpty(): boolean {
    return this.#next.length === 0 && this.#behind.length === 0;
  }

  add(task: PendingTask): void {
    this.#behind.push(task);
  }

  /** Puts a task whose worker died before all others. */
  addFirst(task: PendingTask): void {
    this.#next.push(task);
  }

  /** Removes and returns the next one. */
  take(): PendingTask | undefined {
    if (this.#next.length === 0) [this.#next, this.#behind] = [this.#behind.reverse(), []];
    return this.#next.pop();
  }

  /** @returns false if it does not wait here. */
  remove(task: PendingTask): boolean {
    return [this.#next, this.#behind].some((tasks) => {
      const at = tasks.indexOf(task);
      if (at >= 0) tasks.splice(at, 1);
      return at >= 0;
    });
  }

  /** Removes all of them, and rejects each. */
  fail(error: unknown): void {
    const tasks = [...this.#next.splice(0).reverse(), ...this.#behind.splice(0)];
    for (const task of tasks) task.settle({ error });
  }
}
