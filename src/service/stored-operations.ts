import { createHash, randomUUID } from "node:crypto";
import { jsonBytes } from "../contract/bounded-json.ts";
import { counted } from "../contract/counted.ts";
import { MucastError } from "../contract/errors.ts";
import { isEnded, type OperationPage, type OperationView } from "../contract/operation-view.ts";
import type { ParsedPayload } from "../contract/parse-payload.ts";
import { SIZES } from "../contract/sizes.ts";
import type { Snapshot, StoredEvent } from "../contract/stored-event.ts";
import type { Database } from "./database/database.ts";
import { followEvents } from "./follow-events.ts";
import type { Caller, ListQuery, Operations, Submission } from "./operations.ts";
import type { Changes } from "./queue/changes.ts";
import { canceledProblem } from "./queue/conclude.ts";
import { claimBlob, ownerOfBlob } from "./store/blob-owners.ts";
import { cursorOf, ordinalOf } from "./store/cursor.ts";
import { endOperation } from "./store/end-operation.ts";
import { insertOperation } from "./store/insert-operation.ts";
import { type OperationRow, viewOf } from "./store/operation-row.ts";
import { listOperations, readOperation } from "./store/read-operation.ts";
import { requestCancel } from "./store/request-cancel.ts";
import type { WebhookTypes } from "./store/webhook-types.ts";

export interface StoredOperationsParts {
  readonly database: Database;
  readonly changes: Changes;
  readonly webhooks: WebhookTypes;
  readonly settings: { readonly events_kept: number; readonly queued_per_caller: number };
  /** Reads and checks a payload for its caller. @throws MucastError with every fault. */
  readonly read: (caller: Caller, submission: Submission) => Promise<ParsedPayload>;
  readonly onQueued: (row: OperationRow) => void;
  /** For good, here: an operation that had not started. */
  readonly onCanceled: (row: OperationRow) => void;
}

const FULL_RETRY_SECONDS = 30;
const WAIT_STEP_MILLISECONDS = 5_000;

/** Operations as the database has them. */
export class StoredOperations implements Operations {
  readonly #parts: StoredOperationsParts;
  #draining = false;

  constructor(parts: StoredOperationsParts) {
    this.#parts = parts;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Nothing is taken from now on. */
  drain(): void {
    this.#draining = true;
  }

  async submit(caller: Caller, submission: Submission) {
    if (this.#draining) {
      throw new MucastError("unavailable", "the service is about to end and takes no more", {
        retryAfter: 10,
      });
    }
    const { database, webhooks, settings } = this.#parts;
    const payload = await this.#parts.read(caller, submission);
    const inserted = await insertOperation(
      database,
      {
        id: randomUUID(),
        caller: caller.subject,
        operation: submission.operation,
        featureUrl: payload.featureUrl,
        dataExtractorUrl: payload.dataExtractorUrl,
        config: payload.config,
        configSha256: sha256(payload.config),
        idempotencyKey: submission.idempotencyKey,
        bodySha256: sha256(`${submission.operation}\n${payload.canonical}`),
        traceparent: submission.traceparent,
      },
      settings.queued_per_caller,
      webhooks,
    );
    if (inserted.kind === "conflict") throw otherBody();
    if (inserted.kind === "full") throw queueFull(settings.queued_per_caller);
    if (inserted.kind === "created") this.#parts.onQueued(inserted.row);
    return { operation: viewOf(inserted.row), created: inserted.kind === "created" };
  }

  async get(caller: Caller, id: string): Promise<OperationView> {
    return viewOf(await this.#read(caller, id));
  }

  async list(caller: Caller, query: ListQuery): Promise<OperationPage> {
    const before = query.cursor === undefined ? undefined : ordinalOf(query.cursor);
    const { rows, hasMore } = await listOperations(this.#parts.database, caller.subject, {
      ...query,
      before,
      bytes: SIZES.page,
    });
    const operations = firstThatFit(rows.map(viewOf));
    const last = rows[operations.length - 1];
    return {
      operations,
      next_cursor: last && (hasMore || operations.length < rows.length) ? cursorOf(last.ordinal) : null,
    };
  }

  async cancel(caller: Caller, id: string): Promise<OperationView> {
    const { database, webhooks, settings } = this.#parts;
    await this.#read(caller, id);
    const row = await requestCancel(database, id, webhooks);
    if (row?.status === "NotStarted") {
      const ending = { status: "Canceled", problem: canceledProblem() } as const;
      const ended = await endOperation(database, row, ending, { events: settings.events_kept, webhooks });
      if (ended) this.#parts.onCanceled(ended);
    }
    return this.get(caller, id);
  }

  async wait(caller: Caller, id: string, seconds: number, signal?: AbortSignal): Promise<OperationView> {
    const deadline = performance.now() + seconds * 1_000;
    for (;;) {
      const left = Math.max(0, deadline - performance.now());
      const next = this.#parts.changes.next(id, Math.min(left, WAIT_STEP_MILLISECONDS), signal);
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
    const { database, changes } = this.#parts;
    return followEvents({ database, changes, signal, after, read: () => this.#read(caller, id) });
  }

  ownerOf(blobName: string): Promise<string | undefined> {
    return ownerOfBlob(this.#parts.database, blobName);
  }

  async claimBlob(caller: Caller, blobName: string): Promise<void> {
    const owner = await claimBlob(this.#parts.database, blobName, caller.subject);
    if (owner === caller.subject) return;
    throw new MucastError("forbidden", `${blobName} belongs to somebody else; take another id`, {
      path: blobName,
    });
  }

  async #read(caller: Caller, id: string): Promise<OperationRow> {
    const row = await readOperation(this.#parts.database, id, caller.subject);
    if (row) return row;
    throw new MucastError("not_found", `there is no operation ${JSON.stringify(id.slice(0, 100))}`, {
      path: "id",
    });
  }
}

/** Room for what a page has beside its operations: the cursor and the names of its members. */
const FRAME_BYTES = 512;

/** The first operation, and those behind it that a page has room for. */
function firstThatFit(views: readonly OperationView[]): OperationView[] {
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

function otherBody(): MucastError {
  return new MucastError(
    "idempotency_conflict",
    "this Idempotency-Key was used for another request; take a new key for another body",
    { path: "Idempotency-Key", sameBody: false },
  );
}

function queueFull(most: number): MucastError {
  return new MucastError(
    "rate_limited",
    `${counted(most, "operation")} of this caller ${most === 1 ? "waits" : "wait"} to start already`,
    {
      retryAfter: FULL_RETRY_SECONDS,
      limit: most,
    },
  );
}
