import { canceled } from "../../blob/blob-errors.ts";
import { FORECAST_LIMITS, type ForecastQuery, type ForecastView } from "../../contract/api/forecast-view.ts";
import type { OperationView } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Blobs } from "../blobs/blobs.ts";
import type { Caller } from "../operations/operations.ts";
import { readForecast } from "./read-forecast.ts";

/** Outputs that are read at the same time; each is read whole, which may be some hundred megabytes. */
const READ_AT_ONCE = 2;
const WAITING_AT_MOST = 50;
/** So that one caller does not take the room of all others. */
const WAITING_OF_A_CALLER = 10;
const RETRY_SECONDS = 5;
/** Each some kilobytes. An output never changes, so what was read of it stays right. */
const ANSWERS_KEPT = 32;

/** A request that waits to read an output. */
interface Turn {
  readonly subject: string;
  readonly begin: () => void;
}

/** What operations that have succeeded forecast, read from their outputs. */
export class Forecasts {
  readonly #blobs: Pick<Blobs, "find">;
  readonly #answers = new Map<string, ForecastView>();
  readonly #waiting = new Set<Turn>();
  #reading = 0;

  constructor(blobs: Pick<Blobs, "find">) {
    this.#blobs = blobs;
  }

  /**
   * What the output of an operation says of the tickers asked for.
   * @param operation one of the caller's.
   * @throws MucastError no_result where it has not succeeded; not_found where its output is gone; rate_limited where
   *   many of the caller's wait, unavailable where very many do; what reading the output throws; canceled.
   */
  async of(
    caller: Caller,
    operation: OperationView,
    { tickers, limit = FORECAST_LIMITS.default }: ForecastQuery,
    signal?: AbortSignal,
  ): Promise<ForecastView> {
    const { id, status, result } = operation;
    if (result === null) throw noResult(id, status);
    const name = result.output_name;
    const wanted = tickers === undefined ? { largest: limit } : { tickers };
    const spot = await this.#blobs.find(caller, name);
    const blob = await spot?.store.stat(spot.key);
    if (spot === undefined || blob === undefined) {
      throw new MucastError("not_found", `the output ${name} is no longer there`, { path: "id" });
    }
    const { etag } = blob;
    const key = JSON.stringify([caller.subject, name, etag, wanted]);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const view = await this.#inTurn(caller, signal, () =>
      readForecast(name, spot.store.read(spot.key, { etag, signal }), wanted),
    );
    this.#keep(key, view);
    return view;
  }

  #keep(key: string, view: ForecastView): void {
    this.#answers.set(key, view);
    if (this.#answers.size > ANSWERS_KEPT) this.#answers.delete(this.#answers.keys().next().value!);
  }

  async #inTurn<T>({ subject }: Caller, signal: AbortSignal | undefined, read: () => Promise<T>): Promise<T> {
    if (this.#reading === READ_AT_ONCE) await this.#turn(subject, signal);
    else this.#reading += 1;
    try {
      return await read();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#reading -= 1;
      else {
        this.#waiting.delete(next);
        next.begin();
      }
    }
  }

  /** Until one that reads has ended, whose place it takes. */
  async #turn(subject: string, signal: AbortSignal | undefined): Promise<void> {
    this.#checkRoom(subject);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn = { subject, begin: resolve };
    this.#waiting.add(turn);
    const leave = () => {
      if (this.#waiting.delete(turn)) reject(canceled(signal!, "reading", "an output"));
    };
    signal?.addEventListener("abort", leave);
    if (signal?.aborted) leave();
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  #checkRoom(subject: string): void {
    const own = [...this.#waiting].filter((turn) => turn.subject === subject).length;
    const data = { retryAfter: RETRY_SECONDS };
    if (own >= WAITING_OF_A_CALLER) {
      throw new MucastError("rate_limited", `${own} requests of this caller wait to read an output`, data);
    }
    if (this.#waiting.size >= WAITING_AT_MOST) {
      const message = `${WAITING_AT_MOST} others wait to read an output already; try again later`;
      throw new MucastError("unavailable", message, data);
    }
  }
}

function noResult(id: string, status: OperationView["status"]): MucastError {
  const message = `operation ${id} is ${status}, and only one that is Succeeded has a forecast`;
  return new MucastError("no_result", message, { path: "id", operation_status: status });
}
