import type { ForecastQuery, ForecastView } from "../../contract/api/forecast-view.ts";
import type {
  Operation,
  OperationPage,
  OperationStatus,
  OperationView,
} from "../../contract/api/operation-view.ts";
import type { Snapshot, StoredEvent } from "../../contract/api/stored-event.ts";

/** Who asks. Operations, blobs and idempotency keys belong to one; no caller sees another's. */
export interface Caller {
  /** `local` where nobody has to say who they are; else `key:<id>` or `oidc:<sub>`. */
  readonly subject: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** `read` and `write` for operations and blobs; `admin` for keys. */
export const SCOPES = ["read", "write", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** What is handed in. */
export interface Submission {
  readonly operation: Operation;
  /** The payload's JSON text: the numbers of its config reach the engine as they are written. */
  readonly payload: string;
  readonly idempotencyKey?: string | undefined;
  /** W3C trace context of the request. */
  readonly traceparent?: string | undefined;
}

export interface ListQuery {
  readonly status?: OperationStatus | undefined;
  readonly operation?: Operation | undefined;
  readonly cursor?: string | undefined;
  /** 1 to 100. */
  readonly limit: number;
}

/** What HTTP, MCP and the command line do with operations; one implementation behind all of them. */
export interface Operations {
  /**
   * Checks the payload whole, stores the operation and has it run. The same key and body give the operation that
   * they gave before (`created` false).
   * @throws MucastError invalid_request, unknown_model, invalid_model_params, device_unavailable, url_not_allowed,
   *   too_large: before anything is stored; idempotency_conflict (data.sameBody tells 409 from 422), rate_limited (a full queue, with
   *   data.retryAfter in seconds), quota_exceeded (no room for an output), unavailable (draining).
   */
  submit(caller: Caller, submission: Submission): Promise<{ operation: OperationView; created: boolean }>;
  /** @throws MucastError not_found, also for another caller's operation. */
  get(caller: Caller, id: string): Promise<OperationView>;
  /** @throws MucastError invalid_request for a cursor that was not given by this. */
  list(caller: Caller, query: ListQuery): Promise<OperationPage>;
  /**
   * Asks a job to stop: Canceled at once where it had not started, Running until it has stopped; one that has ended
   * is given back unchanged. @throws MucastError not_found.
   */
  cancel(caller: Caller, id: string): Promise<OperationView>;
  /**
   * What the output of an operation says of some tickers. @throws MucastError not_found, also where the output is gone;
   * no_result where it has not succeeded; unavailable; what reading the output throws.
   */
  forecast(caller: Caller, query: ForecastQuery, signal?: AbortSignal): Promise<ForecastView>;
  /** The operation once it has ended, or as it is after `seconds`. @throws MucastError not_found. */
  wait(caller: Caller, id: string, seconds: number, signal?: AbortSignal): Promise<OperationView>;
  /**
   * The events after `after` (0: all of them), then each as it happens, up to and with the final one. Where the
   * asked ones are no longer kept, a snapshot comes first. @throws MucastError not_found, before the first event.
   */
  follow(
    caller: Caller,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredEvent | Snapshot, void>;
}
