import { createHash, randomUUID } from "node:crypto";
import type { ForecastQuery, ForecastView } from "../../contract/api/forecast-view.ts";
import {
  isEnded,
  type OperationPage,
  type OperationView,
  type VerdictView,
} from "../../contract/api/operation-view.ts";
import type { Snapshot, StoredEvent } from "../../contract/api/stored-event.ts";
import type { ParsedPayload } from "../../contract/config/payload.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { aboutToEnd } from "../abort-error.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs } from "../blobs/blobs.ts";
import type { StoredInputs } from "../blobs/input-urls.ts";
import { spaceOf } from "../blobs/storage.ts";
import type { Database } from "../database/database.ts";
import { type Forecasts, readVerdict } from "../forecast/forecasts.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import type { OperationNotifications } from "../queue/notifications.ts";
import { endOperation, requestCancel } from "../store/attempts.ts";
import { type Quota, quotaExceeded } from "../store/blobs.ts";
import type { WebhookTypes } from "../store/events.ts";
import { cursorAfter, listedViewOf, pageEndOf, type ViewedRow, viewOf } from "../store/operation-view.ts";
import {
  countActive,
  findSameKey,
  type Inserted,
  insertOperation,
  type ListQuery,
  listOperations,
  type OperationRow,
  readKeptPayload,
  readViewed,
} from "../store/operations.ts";
import { followEvents } from "./follow-events.ts";
import { keptPayload } from "./kept-payload.ts";
import type { Operations, Submission } from "./operations.ts";

interface StoredOperationsParts {
  readonly database: Database;
  readonly notifications: OperationNotifications;
  readonly webhooks: WebhookTypes;
  readonly settings: { readonly events_kept: number; readonly queued_per_caller: number };
  readonly quota: Quota;
  /** Parses and checks a payload. @throws MucastError with every fault. */
  readonly read: (caller: Caller, submission: Submission) => Promise<ReadPayload>;
  /** @throws MucastError unavailable while no job could write its output. */
  readonly requireStorage: () => void;
  /** Finds the blob of a verdict. */
  readonly blobs: Pick<Blobs, "find">;
  /** Reads the forecast of an operation of the caller. */
  readonly forecasts: Pick<Forecasts, "of">;
  readonly onQueued: (row: OperationRow) => void;
  /** Called for an operation that was canceled before it started. */
  readonly onCanceled: (row: OperationRow) => void;
}

/** A payload without faults. */
interface ReadPayload extends ParsedPayload {
  /** Its inputs as the row stores them. @throws MucastError url_not_allowed for a blob that the caller may not read. */
  inputs(): Promise<StoredInputs>;
}

const FULL_RETRY_SECONDS = 30;
const WAIT_STEP_MILLISECONDS = 5_000;

/** Operations over the database. */
export class StoredOperations implements Operations {
  readonly #parts: StoredOperationsParts;
  #draining = false;

  constructor(parts: StoredOperationsParts) {
    this.#parts = parts;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Refuses submissions from now on. */
  drain(): void {
    this.#draining = true;
  }

  async submit(caller: Caller, submission: Submission) {
    if (this.#draining) throw aboutToEnd();
    const inserted = await this.#insert(caller, submission, await this.#parts.read(caller, submission));
    if (!("row" in inserted)) throw this.#refusal(inserted);
    if (inserted.kind === "created") this.#parts.onQueued(inserted.row);
    return { operation: viewOf(inserted.row), created: inserted.kind === "created" };
  }

  async #insert(caller: Caller, submission: Submission, payload: ReadPayload): Promise<Inserted> {
    const { database, settings, quota } = this.#parts;
    const given = {
      caller: caller.subject,
      idempotencyKey: submission.idempotencyKey,
      bodySha256: sha256(`${submission.operation}\n${payload.canonical}`),
    };
    // Before the inputs, which may have been removed since the first call.
    const before = await findSameKey(database.db, given);
    if (before) return before;
    this.#parts.requireStorage();
    const operation = {
      ...given,
      ...(await payload.inputs()),
      id: randomUUID(),
      space: spaceOf(caller.subject),
      operation: submission.operation,
      config: payload.config,
      model: payload.model,
      configSha256: sha256(payload.config),
      traceparent: submission.traceparent,
      payload: keptPayload(submission.operation, payload),
    };
    return insertOperation(this.#parts, operation, { queued: settings.queued_per_caller, quota });
  }

  #refusal(inserted: Exclude<Inserted, { readonly row: OperationRow }>): MucastError {
    const { settings, quota } = this.#parts;
    switch (inserted.kind) {
      case "conflict":
        return new MucastError(
          "idempotency_conflict",
          "this Idempotency-Key was used for another request; take a new key for another body",
          { path: "Idempotency-Key" },
        );
      case "full": {
        const limit = settings.queued_per_caller;
        const message = `${counted(limit, "operation")} of this caller ${limit === 1 ? "waits" : "wait"} to start already`;
        return new MucastError("rate_limited", message, { retryAfter: FULL_RETRY_SECONDS, limit });
      }
      case "over quota":
        return quotaExceeded(inserted.used, quota);
      case "missing": {
        const { name } = inserted.blob;
        return new MucastError("url_not_allowed", `${name} has just been removed`, { value: name });
      }
    }
  }

  async get(caller: Caller, id: string): Promise<OperationView> {
    return viewOf(await this.#read(caller, id));
  }

  async payload(caller: Caller, id: string): Promise<string> {
    const payload = await readKeptPayload(this.#parts.database.db, id, caller.subject);
    if (payload === undefined) throw noOperation(id);
    if (payload !== null) return payload;
    const message = `operation ${id} was submitted to an earlier version, which did not keep payloads`;
    throw new MucastError("not_found", message, { path: "id" });
  }

  async forecast(caller: Caller, query: ForecastQuery, signal?: AbortSignal): Promise<ForecastView> {
    return this.#parts.forecasts.of(caller, await this.get(caller, query.id), query, signal);
  }

  async verdict(caller: Caller, id: string, signal?: AbortSignal): Promise<VerdictView> {
    return readVerdict(this.#parts.blobs, caller, await this.get(caller, id), signal);
  }

  async list(caller: Caller, query: ListQuery): Promise<OperationPage> {
    const after = query.cursor === undefined ? undefined : pageEndOf(query.cursor);
    const { rows, hasMore } = await listOperations(this.#parts.database, caller.subject, {
      ...query,
      after,
      bytes: SIZES.page,
    });
    const operations = fittingViews(rows.map(listedViewOf));
    const last = operations.at(-1);
    return {
      operations,
      next_cursor: last && (hasMore || operations.length < rows.length) ? cursorAfter(last) : null,
    };
  }

  async cancel(caller: Caller, id: string): Promise<OperationView> {
    await this.#read(caller, id);
    await this.#cancel(id);
    return this.get(caller, id);
  }

  async #cancel(id: string): Promise<void> {
    const row = await requestCancel(this.#parts, id);
    if (row?.status === "NotStarted") {
      const ending = { status: "Canceled", problem: canceledProblem() } as const;
      const ended = await endOperation(this.#parts, row, ending);
      if (ended) this.#parts.onCanceled(ended);
    }
  }

  async queue(caller: Caller) {
    return countActive(this.#parts.database.db, caller.subject);
  }

  async wait(caller: Caller, id: string, seconds: number, signal?: AbortSignal): Promise<OperationView> {
    const deadline = performance.now() + seconds * 1_000;
    for (;;) {
      const left = Math.max(0, deadline - performance.now());
      const next = this.#parts.notifications.next(id, Math.min(left, WAIT_STEP_MILLISECONDS), signal);
      const view = await this.get(caller, id);
      if (isEnded(view.status) || left === 0 || signal?.aborted) return view;
      await next;
    }
  }

  follow(
    caller: Caller,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredEvent | Snapshot, void> {
    const { database, notifications } = this.#parts;
    return followEvents({ database, notifications, signal, after, read: () => this.#read(caller, id) });
  }

  async #read(caller: Caller, id: string): Promise<ViewedRow> {
    const row = await readViewed(this.#parts.database.db, id, caller.subject);
    if (row) return row;
    throw noOperation(id);
  }
}

/** Bytes of a page besides its operations: the cursor and the names of its members. */
const FRAME_BYTES = 512;

/** The first operation, and as many more as fit into a page. */
function fittingViews(views: readonly OperationView[]): OperationView[] {
  let room = SIZES.page - FRAME_BYTES;
  const count = views.findIndex((view) => {
    room -= jsonBytes(view) + 1;
    return room < 0;
  });
  return count < 0 ? [...views] : views.slice(0, Math.max(1, count));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function noOperation(id: string): MucastError {
  const message = `there is no operation ${JSON.stringify(id.slice(0, 100))}`;
  return new MucastError("not_found", message, { path: "id" });
}
