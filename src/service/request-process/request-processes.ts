import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import { CallerTurns } from "../caller-turns.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { RequestOrder } from "./messages.ts";
import { type ProcessLimits, runProcess } from "./run-process.ts";

interface RequestProcessesParts {
  /** Maximum number of parallel processes. */
  readonly atOnce: number;
  readonly limits: () => ProcessLimits;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestProcessEnded">;
  /** Runs an order in a process; tests replace it. */
  readonly start?: typeof runProcess;
}

/** Runs the long work of single requests in a limited number of parallel processes. */
export class RequestProcesses {
  readonly #parts: RequestProcessesParts;
  readonly #turns: CallerTurns;
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(parts: RequestProcessesParts) {
    this.#parts = parts;
    this.#turns = new CallerTurns({ atOnce: parts.atOnce, what: "draw a report or prepare blobs" });
  }

  /** The number of processes that run. */
  get running(): number {
    return this.#running.size;
  }

  /**
   * Runs an order of a caller when there is room.
   * @returns the answer of the process. @throws MucastError of `runProcess`; rate_limited and unavailable if too many wait, or a
   * request has waited for as long as a process may run.
   */
  run(caller: Pick<Caller, "subject">, order: RequestOrder, signal: AbortSignal): Promise<Buffer> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(tooBusy()), this.#parts.limits().seconds * 1_000);
    const working = this.#turns.run(caller, AbortSignal.any([either, patience.signal]), () => {
      clearTimeout(timer);
      return this.#work(order, either);
    });
    return working.finally(() => clearTimeout(timer));
  }

  /** Kills the running processes, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closing.abort(new MucastError("unavailable", "the service is about to end", { retryAfter: 10 }));
    await Promise.allSettled(this.#running);
  }

  async #work(order: RequestOrder, signal: AbortSignal): Promise<Buffer> {
    const { start = runProcess, limits, telemetry, log } = this.#parts;
    const startedAt = performance.now();
    const working = start(order, limits(), signal);
    this.#running.add(working);
    const [settled] = await Promise.allSettled([working]);
    this.#running.delete(working);
    const error = settled.status === "fulfilled" ? undefined : settled.reason;
    const outcome =
      error === undefined ? "done" : error instanceof MucastError ? error.code : ("internal" as const);
    telemetry.requestProcessEnded(order.kind, outcome);
    const ms = Math.round(performance.now() - startedAt);
    log.info({ kind: order.kind, outcome, ms }, "a process of a request ended");
    return working;
  }
}

function tooBusy(): MucastError {
  return new MucastError("unavailable", "the processes of other requests have left no room; try again later");
}
