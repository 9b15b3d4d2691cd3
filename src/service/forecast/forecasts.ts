import { canceled } from "../../blob/blob-errors.ts";
import { FORECAST_LIMITS, type ForecastQuery, type ForecastView } from "../../contract/api/forecast-view.ts";
import type { OperationView } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Blobs } from "../blobs/blobs.ts";
import type { Caller } from "../operations/operations.ts";
import { verdictOperation } from "../verdict/verdicts.ts";
import { readForecast } from "./read-forecast.ts";

/** Outputs read at the same time. The service reads a whole output, which may be some hundred megabytes. */
const READ_AT_ONCE = 2;
const WAITING_AT_MOST = 50;
/** Requests of one caller that may wait, so that others have room. */
const WAITING_OF_A_CALLER = 10;
const RETRY_SECONDS = 5;
/** Answers of some kilobytes each. They stay right, since an output never changes. */
const ANSWERS_KEPT = 32;

/** A request that waits to read an output. */
interface Turn {
  readonly subject: string;
  readonly begin: () => void;
}

/** Reads forecasts from the outputs of operations that have succeeded. */
export class Forecasts {
  readonly #blobs: Pick<Blobs, "find">;
  readonly #answers = new Map<string, ForecastView>();
  readonly #waiting = new Set<Turn>();
  #reading = 0;

  constructor(blobs: Pick<Blobs, "find">) {
    this.#blobs = blobs;
  }

  /**
   * Reads the forecasts of the wanted tickers from the output of an operation.
   * @param operation an operation of the caller.
   * @throws MucastError other_result for an audit or a replay; no_result where it has not succeeded; not_found where its output is gone; rate_limited where too
   *   many requests of the caller wait, unavailable where too many of all callers do; errors of reading the output; canceled.
   */
  async of(
    caller: Caller,
    operation: OperationView,
    { tickers, limit = FORECAST_LIMITS.default }: ForecastQuery,
    signal?: AbortSignal,
  ): Promise<ForecastView> {
    const { id, status, result } = operation;
    if (verdictOperation(operation) !== undefined) throw noForecast(operation);
    if (result === null) throw noResult(id, status);
    const name = result.output_name;
    const wanted = tickers === undefined ? { largest: limit } : { tickers };
    const address = await this.#blobs.find(caller, name);
    const blob = await address?.store.stat(address.key);
    if (address === undefined || blob === undefined) {
      throw new MucastError("not_found", `the output ${name} is no longer there`, { path: "id" });
    }
    const { etag } = blob;
    const key = JSON.stringify([caller.subject, name, etag, wanted]);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const view = await this.#inTurn(caller, signal, () =>
      readForecast(name, address.store.read(address.key, { etag, signal }), wanted),
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

  /** Waits until another request has read its output. */
  async #turn(subject: string, signal: AbortSignal | undefined): Promise<void> {
    this.#checkRoom(subject);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn = { subject, begin: resolve };
    this.#waiting.add(turn);
    const abort = () => {
      if (this.#waiting.delete(turn)) reject(canceled(signal!, "reading", "an output"));
    };
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    await promise.finally(() => signal?.removeEventListener("abort", abort));
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

function noForecast({ id, operation }: OperationView): MucastError {
  const message = `operation ${id} is of ${operation}, which leaves a verdict and no forecast`;
  return new MucastError("other_result", message, { path: "id", operation });
}

function noResult(id: string, status: OperationView["status"]): MucastError {
  const message = `operation ${id} is ${status}, and only one that is Succeeded has a forecast`;
  return new MucastError("no_result", message, { path: "id", operation_status: status });
}
