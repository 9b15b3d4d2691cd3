import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type {
  Execution,
  ExecutionEnd,
  ExecutionListener,
  Executor,
  JobOrder,
  StopReason,
} from "../../executors/executor.ts";

/** One execution of the fake; its test ends it. */
export interface FakeExecution {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly stops: StopReason[];
  /** Its workers at the start, and after each change. */
  readonly workers: number[];
  /** The handle by which it was adopted. */
  readonly adopted: string | undefined;
  end(end: ExecutionEnd): void;
}

/** A fake that runs nothing: the test ends its executions. Stopping ends one at once, unless `obeys` is false. */
export class FakeExecutor implements Executor {
  readonly name = "process";
  readonly outlivesService: boolean;
  readonly executions: FakeExecution[] = [];
  obeys = true;
  #refusal: { readonly error: Error; readonly resolve: () => void } | undefined;
  readonly #waiting: ((execution: FakeExecution) => void)[] = [];
  readonly #taken = new Set<FakeExecution>();

  constructor(outlivesService = false) {
    this.outlivesService = outlivesService;
  }

  /** Makes the next start throw. @returns a promise that settles then. */
  refuse(error: Error): Promise<void> {
    return new Promise((resolve) => {
      this.#refusal = { error, resolve };
    });
  }

  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const refusal = this.#refusal;
    this.#refusal = undefined;
    if (refusal) {
      refusal.resolve();
      throw refusal.error;
    }
    return this.#run(order, listener, `fake-${order.id}-${order.attempt}`);
  }

  async adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined> {
    return this.outlivesService ? this.#run(order, listener, handle, handle) : undefined;
  }

  async close(): Promise<void> {
    for (const execution of this.executions) execution.end({ kind: "lost", reason: "closed" });
  }

  /** The next execution that the test has not taken yet. */
  next(): Promise<FakeExecution> {
    const waiting = this.executions.find((execution) => !this.#taken.has(execution));
    if (waiting) {
      this.#taken.add(waiting);
      return Promise.resolve(waiting);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #run(order: JobOrder, listener: ExecutionListener, handle: string, adopted?: string): Execution {
    const { promise, resolve } = Promise.withResolvers<ExecutionEnd>();
    const execution: FakeExecution = {
      order,
      listener,
      stops: [],
      workers: [order.workers],
      adopted,
      end: resolve,
    };
    this.executions.push(execution);
    const waiting = this.#waiting.shift();
    if (waiting) {
      this.#taken.add(execution);
      waiting(execution);
    }
    return {
      handle,
      ended: promise,
      setWorkers: (workers) => execution.workers.push(workers),
      stop: (reason) => {
        execution.stops.push(reason);
        if (this.obeys) resolve(stopped(reason));
      },
    };
  }
}

function stopped(reason: StopReason): ExecutionEnd {
  if (reason === "draining") return { kind: "lost", reason: "stopped" };
  return { kind: "failed", problem: problemOf(new MucastError(reason, "stopped")) };
}
