import type { ForecastQuery, ForecastView } from "../../contract/api/forecast-view.ts";
import type { OperationPage, OperationView, VerdictView } from "../../contract/api/operation-view.ts";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { Snapshot, StoredEvent } from "../../contract/api/stored-event.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { Caller } from "../auth/caller.ts";
import type { ListQuery } from "../store/operations.ts";

/** A job, an audit or a replay that a caller submits. */
export interface Submission {
  readonly operation: SubmittedOperation;
  /** The payload's JSON text. The numbers of its config reach the engine as the caller wrote them. */
  readonly payload: string;
  readonly idempotencyKey?: string | undefined;
  /** W3C trace context of the request. */
  readonly traceparent?: string | undefined;
  /** The origin at which the request reached the service: URLs of the service's blobs may begin with it. */
  readonly origin?: string | undefined;
}

/** What HTTP, MCP and the command line do with operations. */
export interface Operations {
  /**
   * Checks the whole payload and stores the operation, which is then queued. The same key and body return the operation of the first
   * call (`created` false).
   * @throws MucastError invalid_request, unknown_model, invalid_model_params, device_unavailable, url_not_allowed, too_large: before
   * anything is stored; idempotency_conflict, rate_limited (a full queue, with data.retryAfter in
   * seconds), quota_exceeded (no space for an output), unavailable (draining).
   */
  submit(caller: Caller, submission: Submission): Promise<{ operation: OperationView; created: boolean }>;
  /** @throws MucastError not_found, also for another caller's operation. */
  get(caller: Caller, id: string): Promise<OperationView>;
  /**
   * The JSON text of the payload, without secrets, also after the end. @throws MucastError not_found, also if an earlier version stored
   * the operation without it.
   */
  payload(caller: Caller, id: string): Promise<string>;
  /** @throws MucastError invalid_request for an invalid cursor. */
  list(caller: Caller, query: ListQuery): Promise<OperationPage>;
  /**
   * Cancels an operation: it becomes Canceled at once if it has not started, and stays Running until its job has stopped. Returns an
   * ended operation unchanged. @throws MucastError not_found.
   */
  cancel(caller: Caller, id: string): Promise<OperationView>;
  /**
   * Reads the forecasts of some tickers from the output of an operation. @throws MucastError not_found, also if the output is gone;
   * other_result for an audit or a replay; no_result if the operation has not succeeded; unavailable; errors of reading the output.
   */
  forecast(caller: Caller, query: ForecastQuery, signal?: AbortSignal): Promise<ForecastView>;
  /**
   * Reads the verdict of an audit or a replay. @throws MucastError not_found, also if its blob is gone; other_result for a job;
   * no_result if it has not succeeded; errors of reading the blob.
   */
  verdict(caller: Caller, id: string, signal?: AbortSignal): Promise<VerdictView>;
  /** Counts the active operations: of all callers, and the caller's own. */
  queue(caller: Caller): Promise<Pick<QueueView, "waiting" | "running" | "own">>;
  /** Waits until the operation has ended, for at most `seconds`. @throws MucastError not_found. */
  wait(caller: Caller, id: string, seconds: number, signal?: AbortSignal): Promise<OperationView>;
  /**
   * Yields the events after `after` (0: all of them), then each as it happens, up to the final one. A snapshot replaces events that
   * retention has removed. @throws MucastError not_found, before the first event.
   */
  follow(
    caller: Caller,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredEvent | Snapshot, void>;
}
