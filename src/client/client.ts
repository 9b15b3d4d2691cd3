import type { ForecastView } from "../contract/api/forecast-view.ts";
import type { JobPreview } from "../contract/api/job-preview.ts";
import type {
  OperationPage,
  OperationView,
  ReportLink,
  VerdictView,
} from "../contract/api/operation-view.ts";
import type { BlobPage, PreparedBlobs, StoredBlobView } from "../contract/api/prepared-blobs.ts";
import type { QueueView } from "../contract/api/queue-view.ts";
import type { Snapshot, StoredEvent } from "../contract/api/stored-event.ts";
import type { SubmittedOperation } from "../contract/config/job-operations.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { htmlText, MucastApiError, objectText, objectWith } from "./api-error.ts";
import { type Call, type ClientOptions, Connection, pause } from "./connection.ts";
import { endedBy, type FollowOptions, followEvents } from "./follow-events.ts";
import type {
  BlobListOptions,
  BlobReadOptions,
  BlobWriteOptions,
  CallOptions,
  ForecastOptions,
  ListOptions,
  PrepareOptions,
  RunOptions,
  SubmitOptions,
} from "./options.ts";
import {
  type AuditPayload,
  type JobPayload,
  type PayloadOf,
  payloadText,
  type ReplayPayload,
  type ValidatePayload,
} from "./payload.ts";
import { readOutput } from "./read-output.ts";

/** A blob as it is stored. Its JSON is not checked; `output` returns a checked output. */
export interface BlobResponse extends Response {
  json(): Promise<unknown>;
  clone(): BlobResponse;
}

/** An operation that produced an output. */
export type SucceededOperation = OperationView & {
  readonly status: "Succeeded";
  readonly result: ResultRecord;
};

const JSON_TYPE = { "content-type": "application/json" };

/** Between two requests for an operation, if there is no event stream. */
const POLL_MS = 2_000;

/**
 * The mucast service, from Node or a browser. Every method throws MucastApiError with the service's problem if it refuses, and
 * fetch's TypeError if there is no answer. Requests that are safe to repeat are retried: reading, cancelling, uploading, and
 * submitting with an idempotency key.
 */
export class MucastClient {
  readonly #connection: Connection;

  constructor(options: ClientOptions) {
    this.#connection = new Connection(options);
  }

  /**
   * One regressor per ticker.
   * @param payload an object, or its whole JSON text, which is sent unchanged.
   * @returns the operation: NotStarted, or its state after `wait`.
   */
  runMlJob(payload: JobPayload | string, options: SubmitOptions = {}): Promise<OperationView> {
    return this.#submit("run_ml_job", payload, options);
  }

  /** Networks, one per ticker or one for all; otherwise like runMlJob. */
  runDlJob(payload: JobPayload | string, options: SubmitOptions = {}): Promise<OperationView> {
    return this.#submit("run_dl_job", payload, options);
  }

  /**
   * What a job would make of its payload, without running it: rows, tickers, fits, warnings, and a rough estimate of the cost.
   * @throws MucastApiError with the problem that the job would give before it trains.
   */
  async validate(payload: ValidatePayload | string, { signal }: CallOptions = {}): Promise<JobPreview> {
    const body = payloadText(payload);
    return this.#ask("tickers", { method: "POST", path: "/v1/validate", headers: JSON_TYPE, body, signal });
  }

  /** Checks the inputs of a job for look-ahead. Once the operation has succeeded, getVerdict returns the findings. */
  audit(payload: AuditPayload | string, options: SubmitOptions = {}): Promise<OperationView> {
    return this.#submit("audit", payload, options);
  }

  /** Runs the job of an output once more and compares the bytes; otherwise like audit. */
  replay(payload: ReplayPayload | string, options: SubmitOptions = {}): Promise<OperationView> {
    return this.#submit("replay", payload, options);
  }

  /** @throws MucastApiError not_found. */
  async getOperation(id: string, { signal }: CallOptions = {}): Promise<OperationView> {
    return this.#ask("id", { path: operationPath(id), signal });
  }

  /**
   * The JSON text of the payload of an operation, to submit it again. It has no queries of URLs and no sections of other services.
   * @throws MucastApiError not_found, also for an operation that an earlier version of the service stored.
   */
  async getPayload(id: string, { signal }: CallOptions = {}): Promise<string> {
    return this.#connection.send({ path: `${operationPath(id)}/payload`, signal }, objectText);
  }

  /** The forecasts of an operation: for the named tickers, or for those with the largest |mu|. @throws MucastApiError not_found; no_result. */
  async getForecast(id: string, { signal, tickers, limit }: ForecastOptions = {}): Promise<ForecastView> {
    const path = `${operationPath(id)}/forecast`;
    return this.#ask("forecasts", { path, query: { tickers, limit }, signal });
  }

  /** The verdict of an audit or a replay. @throws MucastApiError not_found; no_result before it succeeds; other_result for a job. */
  async getVerdict(id: string, { signal }: CallOptions = {}): Promise<VerdictView> {
    return this.#ask("output_name", { path: `${operationPath(id)}/verdict`, signal });
  }

  /**
   * The report on the output of an operation that succeeded: an HTML page of at most some megabytes that needs no network. The
   * first request for it takes seconds.
   * @throws MucastApiError not_found; no_result if it has not succeeded; other_result for an audit or a replay.
   */
  async getReport(id: string, { signal }: CallOptions = {}): Promise<string> {
    return this.#connection.send({ path: `${operationPath(id)}/report`, signal }, htmlText);
  }

  /** Makes a link that opens the report of an operation in a browser without credentials: once, and for a minute. @throws like getReport. */
  async createReportLink(id: string, { signal }: CallOptions = {}): Promise<ReportLink> {
    return this.#ask("url", { method: "POST", path: `${operationPath(id)}/report-link`, signal });
  }

  /** Makes such a link to a report that compares the outputs of at most eight operations, in the order of the ids. @throws like getReport. */
  async createComparisonLink(ids: readonly string[], { signal }: CallOptions = {}): Promise<ReportLink> {
    return this.#ask("url", { method: "POST", path: "/v1/report-link", query: { id: ids }, signal });
  }

  /** One page of the caller's operations, newest first. */
  async listOperations({ signal, ...query }: ListOptions = {}): Promise<OperationPage> {
    return this.#ask("operations", { path: "/v1/operations", query, signal });
  }

  /** All operations that `listOperations` would return, page by page. */
  async *allOperations(options: Omit<ListOptions, "cursor"> = {}): AsyncGenerator<OperationView, void> {
    for await (const page of pagesOf((cursor) => this.listOperations({ ...options, cursor })))
      yield* page.operations;
  }

  /** How busy the service is, how many operations of the caller wait and run, and the scopes of the caller. */
  async getQueue({ signal }: CallOptions = {}): Promise<QueueView> {
    return this.#ask("waiting", { path: "/v1/queue", signal });
  }

  /** Asks the service to cancel an operation; it stays Running until its job has stopped. An ended operation is unchanged. */
  async cancelOperation(id: string, { signal }: CallOptions = {}): Promise<OperationView> {
    return this.#ask("id", { method: "POST", path: `${operationPath(id)}/cancel`, signal });
  }

  /** The events of an operation, up to its end; see followEvents. */
  events(id: string, options: FollowOptions = {}): AsyncGenerator<StoredEvent | Snapshot, void> {
    return followEvents(this.#connection, id, options);
  }

  /**
   * Submits a job, an audit or a replay once, even if an answer is lost, and waits for its end.
   * @throws MucastApiError with its problem if it is refused, Failed or Canceled; the errors that RunOptions names.
   */
  async runAndWait<K extends SubmittedOperation>(
    operation: K,
    payload: PayloadOf<K> | string,
    { signal, timeout, onEvent }: RunOptions = {},
  ): Promise<SucceededOperation> {
    const late = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    const ended = AbortSignal.any([signal, late].filter((each) => each !== undefined));
    // 128 random bits; crypto.randomUUID requires a secure context.
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const idempotencyKey = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const { id } = await this.#submit(operation, payload, { idempotencyKey, signal: ended });
    const events = this.events(id, { signal: ended });
    try {
      for (;;) {
        const event = await nextOf(events, ended);
        if (event === undefined) break;
        onEvent?.(event);
        const last = endedBy(event);
        if (last !== undefined) return asSucceeded(last);
      }
    } finally {
      // If left open, it would hold its connection and keep the finished program alive.
      await events.return();
    }
    for (;;) {
      const found = await this.getOperation(id, { signal: ended });
      if (found.finished_at !== null) return asSucceeded(found);
      await pause(POLL_MS, ended);
    }
  }

  /**
   * Uploads an input blob, whole or not at all; an older one of this name is replaced. A stream is sent once; anything else is
   * sent again if interrupted.
   * @param name `feature_engine_<id>.json` or `data_extractor_<id>.json`, or with `.parquet`.
   * @returns the URL to submit.
   * @throws MucastApiError precondition_failed if `isNew` is set and the blob exists.
   */
  async putBlob(
    name: string,
    body: NonNullable<RequestInit["body"]>,
    { signal, isNew = false }: BlobWriteOptions = {},
  ): Promise<{ url: string; created: boolean }> {
    const repeatable = !(body instanceof ReadableStream);
    const headers = { ...JSON_TYPE, ...(isNew ? { "if-none-match": "*" } : {}) };
    const call = { method: "PUT", path: blobPath(name), headers, body, repeatable, signal } as const;
    return this.#connection.send(call, async (response) => {
      const { url } = await objectWith<{ url: string }>("url")(response);
      return { url, created: response.status === 201 };
    });
  }

  /**
   * Turns prices, a CSV (compressed with gzip or not) or a Parquet table, into both input blobs, and stores them as putBlob does. The same
   * files give the same blobs.
   * @param prices a Blob if there is a table of features.
   * @returns the URLs to submit, and how the files were interpreted.
   * @throws MucastApiError invalid_data with the faulty line; too_large; precondition_failed if a blob of that id has other bytes.
   */
  async prepare(
    prices: NonNullable<RequestInit["body"]>,
    { signal, features, ...query }: PrepareOptions = {},
  ): Promise<PreparedBlobs> {
    const repeatable = !(prices instanceof ReadableStream);
    let body = prices;
    let headers = {};
    if (features === undefined) headers = { "content-type": "text/csv" };
    else {
      if (!(prices instanceof Blob)) throw new TypeError("with features, the prices must be a Blob");
      // fetch itself adds the Content-Type of a form, with its boundary.
      body = new FormData();
      body.append("prices", prices);
      body.append("features", features);
    }
    const call = { method: "POST", path: "/v1/prepare", query, headers, body, repeatable, signal } as const;
    return this.#ask("feature_url", call);
  }

  /**
   * The output of an operation that has succeeded, read whole and checked; `mu` is what a portfolio optimizer takes.
   * @throws MucastApiError with the problem of an operation that failed or was cancelled; TypeError if it has not ended, or if
   * its blob is not an output of mucast.
   */
  async output(operation: OperationView, { signal }: CallOptions = {}): Promise<OutputBlob> {
    const { output_name } = asSucceeded(operation).result;
    return readOutput(await this.#ask<OutputBlob>("schema", { path: blobPath(output_name), signal }));
  }

  /** A blob as it is stored, an input or an output, or the part of it that `range` names. Use `.body` for a large one. */
  async getBlob(name: string, { signal, range }: BlobReadOptions = {}): Promise<BlobResponse> {
    const headers = range === undefined ? {} : { range };
    return this.#connection.send({ path: blobPath(name), headers, signal }, async (response) => response);
  }

  /** One page of the caller's blobs, newest first: stored inputs and the outputs of operations. */
  async listBlobs({ signal, ...query }: BlobListOptions = {}): Promise<BlobPage> {
    return this.#ask("blobs", { path: "/v1/data", query, signal });
  }

  /** All blobs that `listBlobs` would return, page by page. */
  async *allBlobs(options: Omit<BlobListOptions, "cursor"> = {}): AsyncGenerator<StoredBlobView, void> {
    for await (const page of pagesOf((cursor) => this.listBlobs({ ...options, cursor }))) yield* page.blobs;
  }

  /**
   * Removes a blob, an input or an output; its bytes no longer count against the caller's quota.
   * @throws MucastApiError not_found, also if an earlier answer was lost and the blob is already gone; blob_in_use while an
   * unfinished operation names it.
   */
  async deleteBlob(name: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#connection.send({ method: "DELETE", path: blobPath(name), signal }, async () => undefined);
  }

  #submit(
    operation: SubmittedOperation,
    payload: PayloadOf<SubmittedOperation> | string,
    { idempotencyKey, wait, signal }: SubmitOptions,
  ): Promise<OperationView> {
    const headers = {
      ...JSON_TYPE,
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      ...(wait === undefined ? {} : { prefer: `wait=${wait}` }),
    };
    const body = payloadText(payload);
    const repeatable = idempotencyKey !== undefined;
    return this.#ask("id", { method: "POST", path: `/v1/${operation}`, headers, body, repeatable, signal });
  }

  /** An answer with that member. */
  #ask<T>(member: keyof T & string, call: Call): Promise<T> {
    return this.#connection.send(call, objectWith<T>(member));
  }
}

/** @returns undefined if no event stream gets through, as behind a proxy that buffers whole answers. */
async function nextOf(events: AsyncGenerator<StoredEvent | Snapshot, void>, signal: AbortSignal) {
  try {
    return (await events.next()).value ?? undefined;
  } catch (error) {
    const isRefused = error instanceof MucastApiError && error.status < 500;
    if (signal.aborted || isRefused) throw error;
    return undefined;
  }
}

/** @throws MucastApiError with the problem of one that has failed or was cancelled; TypeError for one that has not ended. */
function asSucceeded(operation: OperationView): SucceededOperation {
  const { id, status, result, error } = operation;
  if (status === "Succeeded" && result !== null) return { ...operation, status, result };
  if (error !== null) throw new MucastApiError(error, operation);
  throw new TypeError(`the operation ${id} is ${status}: it has left no output`);
}

async function* pagesOf<T extends { readonly next_cursor: string | null }>(
  read: (cursor: string | undefined) => Promise<T>,
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    yield page;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

function operationPath(id: string): string {
  return `/v1/operations/${encodeURIComponent(id)}`;
}

function blobPath(name: string): string {
  return `/data/${encodeURIComponent(name)}`;
}
