import { MucastError } from "../../contract/errors/errors.ts";
import { abortError } from "../abort-error.ts";
import { afterFreeTurns } from "../free-turns.ts";
import { currentScope, type RequestScope } from "../request-scope.ts";

/** Maximum number of waiting statements of one caller: one for each request that a caller may have open. */
export const MAX_WAITING_OF_CALLER = 2_000;
const RETRY_SECONDS = 5;
const MAX_TURN_MILLISECONDS = 50;

interface QueueLimits {
  /** Maximum number of parallel statements. */
  readonly atOnce: number;
  /** Milliseconds after which a statement that has not started fails; without them it waits. */
  readonly patience?: number;
}

/** Starts a waiting statement. */
type Begin = () => void;

/**
 * Runs a limited number of statements in parallel, and lets callers take turns: one statement of each waiting caller, then the next
 * of the first one. Every second turn belongs to the service itself, whose leases and events keep jobs alive. A statement whose
 * request is gone never starts.
 *
 * The event loop turns some times between two statements. PGlite computes and never waits for I/O, so without this it would
 * hold the loop until no statement is left. Where these turns take long, since thousands of connections send, the statements after it get
 * as much time as it took: else each of them would wait for all those connections.
 */
export class StatementQueue {
  readonly #limits: QueueLimits;
  /** Waiting statements by caller. The caller whose turn is next comes first. */
  readonly #callers = new Map<string, Set<Begin>>();
  /** Waiting statements of the service itself. */
  readonly #service = new Set<Begin>();
  /** Statements that start when nothing else is left. */
  readonly #last = new Set<Begin>();
  #running = 0;
  /** On the clock of performance.now(). */
  #turnEnds = 0;
  #isServiceNext = true;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /**
   * Runs `body` when it is its turn. @returns its result, or throws its error.
   * @throws MucastError canceled if its request goes away before it starts; rate_limited if too many statements of the caller wait;
   * unavailable if it has waited too long.
   */
  run<T>(body: () => Promise<T>): Promise<T> {
    const scope = currentScope();
    return this.#run(() => this.#turn(scope), body);
  }

  /** Runs `body` once no statement runs or waits. */
  runLast<T>(body: () => Promise<T>): Promise<T> {
    return this.#run(() => new Promise((begin) => this.#last.add(begin)), body);
  }

  async #run<T>(turn: () => Promise<void>, body: () => Promise<T>): Promise<T> {
    const waiting = turn();
    this.#beginNext();
    await waiting;
    try {
      return await body();
    } finally {
      this.#end();
    }
  }

  /** Makes room for the next statement: now where the statements have time left, else after some turns of the event loop. */
  #end(): void {
    const ended = performance.now();
    const next = () => {
      this.#running -= 1;
      this.#beginNext();
    };
    if (ended < this.#turnEnds) {
      next();
      return;
    }
    afterFreeTurns(() => {
      const now = performance.now();
      this.#turnEnds = now + Math.min(now - ended, MAX_TURN_MILLISECONDS);
      next();
    });
  }

  async #turn(scope: RequestScope | undefined): Promise<void> {
    const lane = this.#laneOf(scope);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error: MucastError) => {
      lane.delete(resolve);
      if (scope && lane.size === 0 && this.#callers.get(scope.lane) === lane)
        this.#callers.delete(scope.lane);
      reject(error);
    };
    const abort = () => leave(abortError(scope!.signal!, "use the database"));
    if (scope?.signal?.aborted) {
      abort();
      return promise;
    }
    lane.add(resolve);
    scope?.signal?.addEventListener("abort", abort);
    const { patience } = this.#limits;
    const timer = patience === undefined ? undefined : setTimeout(() => leave(busy()), patience);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      scope?.signal?.removeEventListener("abort", abort);
    }
  }

  /** @throws MucastError rate_limited. */
  #laneOf(scope: RequestScope | undefined): Set<Begin> {
    if (scope === undefined) return this.#service;
    const lane = this.#callers.get(scope.lane) ?? new Set();
    if (lane.size >= MAX_WAITING_OF_CALLER) {
      const message = `${lane.size} requests of this caller wait for the database already`;
      throw new MucastError("rate_limited", message, { retryAfter: RETRY_SECONDS });
    }
    this.#callers.set(scope.lane, lane);
    return lane;
  }

  #beginNext(): void {
    while (this.#running < this.#limits.atOnce) {
      const begin = this.#next();
      if (begin === undefined) return;
      this.#running += 1;
      begin();
    }
  }

  #next(): Begin | undefined {
    const fromService = this.#isServiceNext ? first(this.#service) : undefined;
    const next = fromService ?? this.#nextOfCallers() ?? first(this.#service);
    this.#isServiceNext = next !== fromService;
    if (next !== undefined || this.#running > 0) return next;
    return first(this.#last);
  }

  #nextOfCallers(): Begin | undefined {
    const [next] = this.#callers;
    if (next === undefined) return undefined;
    const [lane, waiting] = next;
    const begin = first(waiting);
    this.#callers.delete(lane);
    if (waiting.size > 0) this.#callers.set(lane, waiting);
    return begin;
  }
}

/** Takes the first one. */
function first(waiting: Set<Begin>): Begin | undefined {
  const [begin] = waiting;
  if (begin !== undefined) waiting.delete(begin);
  return begin;
}

function busy(): MucastError {
  return new MucastError("unavailable", "the database is too busy to answer now", {
    retryAfter: RETRY_SECONDS,
  });
}
