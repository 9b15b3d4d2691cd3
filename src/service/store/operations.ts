import { type Selectable, sql } from "kysely";
import type { OperationStatus } from "../../contract/api/operation-view.ts";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import type { EventBatch } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure, Problem } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { CappedList } from "../../contract/schema/answer-limits.ts";
import type { Database } from "../database/database.ts";
import type { Loss, Statements, Tables } from "../database/tables.ts";
import { overQuota, type Quota, recordBlob, type StorageKey, type Usage } from "./blobs.ts";
import { appendEvents, type NewEvent, pruneEvents, storeEvents, type WebhookTypes } from "./events.ts";
import { ACTIVE_STATUSES, type PageEnd, VIEWED, type ViewedRow, viewOf } from "./operation-view.ts";

export type OperationRow = Selectable<Tables["operations"]>;

/** An operation with the seconds that its attempt has run, by the database's clock. */
export type RunningRow = OperationRow & { readonly attempt_seconds: number | null };

/** One attempt at an operation. Every change of an operation names both, so that an outdated attempt changes nothing. */
export type Attempt = Pick<OperationRow, "id" | "attempt">;

/** What every change of an operation's events needs. */
export interface EventParts {
  readonly database: Database;
  readonly webhooks: WebhookTypes;
  readonly settings: { readonly events_kept: number };
}

interface NewOperation {
  readonly id: string;
  readonly caller: string;
  /** The caller's space of the storage. */
  readonly space: string;
  readonly operation: SubmittedOperation;
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  readonly config: string;
  /** Its `tags` are also stored as a column, which outlives the options. */
  readonly options: PayloadOptions;
  readonly configSha256: string;
  /** Of the config. */
  readonly model: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Digest of the operation's name and the canonical body. */
  readonly bodySha256: string;
  readonly traceparent: string | undefined;
  /** JSON text of the payload without secrets, kept after the end. */
  readonly payload: string;
  /** Recorded blobs among its inputs. */
  readonly blobs: readonly StorageKey[];
}

export type Inserted =
  | { readonly kind: "created" | "exists"; readonly row: OperationRow }
  | { readonly kind: "conflict" }
  | { readonly kind: "full" }
  | { readonly kind: "over quota"; readonly used: Usage }
  /** An input was removed after the payload was checked. */
  | { readonly kind: "missing"; readonly blob: StorageKey };

/**
 * Stores an operation, its idempotency key and its first event in one transaction. If submissions with one key run concurrently, one
 * creates the operation; the others wait for it and get the same.
 * @param limits `queued`: operations of the caller that wait to start.
 */
export function insertOperation(
  { database, webhooks }: Omit<EventParts, "settings">,
  operation: NewOperation,
  limits: { readonly queued: number; readonly quota: Quota },
): Promise<Inserted> {
  const { caller, blobs, ...o } = operation;
  return database.write(async (db) => {
    // Locks the caller's usage, so no other submission of the caller is open.
    const used = await overQuota(db, caller, limits.quota);
    const before = await findSameKey(db, operation);
    if (before) return before;
    if (used) return { kind: "over quota", used };
    const missing = await findMissing(database, db, caller, blobs);
    if (missing) return { kind: "missing", blob: missing };
    const { waiting } = await db
      .selectFrom("operations")
      .select(({ fn }) => fn.countAll<number>().as("waiting"))
      .where("caller", "=", caller)
      .where("status", "=", "NotStarted")
      .executeTakeFirstOrThrow();
    if (waiting >= limits.queued) return { kind: "full" };
    const row = await db
      .insertInto("operations")
      .values({
        ...{
          id: o.id,
          caller,
          space: o.space,
          operation: o.operation,
          model: o.model ?? null,
          config: o.config,
        },
        ...{ feature_url: o.featureUrl, data_extractor_url: o.dataExtractorUrl, payload: o.payload },
        ...{ options: JSON.stringify(o.options), tags: JSON.stringify(o.options.tags ?? []) },
        ...{ config_sha256: o.configSha256, body_sha256: o.bodySha256, traceparent: o.traceparent ?? null },
        ...{ idempotency_key: o.idempotencyKey ?? null, last_seq: 1 },
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await storeEvents({ database, webhooks }, db, row.id, 0, [
      { type: "queued", data: { operation: row.operation } },
    ]);
    return { kind: "created", row };
  });
}

/** The first input without a record. Locks the records of the others, so that no removal takes them before the transaction ends. */
async function findMissing(
  database: Database,
  db: Statements,
  caller: string,
  blobs: readonly StorageKey[],
): Promise<StorageKey | undefined> {
  for (const blob of blobs) {
    const found = await db
      .selectFrom("blobs")
      .select("name")
      .where("caller", "=", caller)
      .where("name", "=", blob.name)
      .where("space", "=", blob.space)
      .where("state", "=", "stored")
      .modifyEnd(database.lock("blobs", "wait"))
      .executeTakeFirst();
    if (found === undefined) return blob;
  }
  return undefined;
}

/** The earlier operation of the idempotency key; undefined without a key, or for a new one. */
export async function findSameKey(
  db: Statements,
  { caller, idempotencyKey, bodySha256 }: Pick<NewOperation, "caller" | "idempotencyKey" | "bodySha256">,
): Promise<Inserted | undefined> {
  if (idempotencyKey === undefined) return undefined;
  const row = await db
    .selectFrom("operations")
    .selectAll()
    .where("caller", "=", caller)
    .where("idempotency_key", "=", idempotencyKey)
    .executeTakeFirst();
  if (!row) return undefined;
  return row.body_sha256 === bodySha256 ? { kind: "exists", row } : { kind: "conflict" };
}

/** Reads an operation of any caller. */
export function readOperation(database: Database, id: string): Promise<RunningRow | undefined> {
  return database.db
    .selectFrom("operations")
    .selectAll()
    .select(database.secondsSince("attempt_started_at").as("attempt_seconds"))
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Reads what a view of an operation of the caller needs. */
export function readViewed(db: Statements, id: string, caller: string): Promise<ViewedRow | undefined> {
  return db
    .selectFrom("operations")
    .select(VIEWED)
    .where("id", "=", id)
    .where("caller", "=", caller)
    .executeTakeFirst();
}

/** Reads the kept payload of an operation of the caller: null if it has none, undefined if there is no such operation. */
export async function readKeptPayload(
  db: Statements,
  id: string,
  caller: string,
): Promise<string | null | undefined> {
  const query = db
    .selectFrom("operations")
    .select("payload")
    .where("id", "=", id)
    .where("caller", "=", caller);
  return (await query.executeTakeFirst())?.payload;
}

/** Which operations a page lists. */
export interface ListQuery {
  readonly status?: OperationStatus | undefined;
  readonly operation?: SubmittedOperation | undefined;
  /** Operations that have all of them. */
  readonly tag?: readonly string[] | undefined;
  readonly cursor?: string | undefined;
  /** 1 to 100. */
  readonly limit: number;
}

/**
 * Reads at most `limit` operations of a caller, newest first; after the first, only as many as take at most `bytes` of JSON text together.
 * @param query `after`: the last operation of the previous page. If retention has removed it, the page starts with the next older one.
 */
export async function listOperations(
  database: Database,
  caller: string,
  {
    status,
    operation,
    tag = [],
    limit,
    after,
    bytes,
  }: Omit<ListQuery, "cursor"> & {
    readonly after: PageEnd | undefined;
    readonly bytes: number;
  },
): Promise<{ readonly rows: readonly ViewedRow[]; readonly hasMore: boolean }> {
  const { db } = database;
  let page = db
    .selectFrom("operations")
    .select([...VIEWED, "ordinal"])
    .where("caller", "=", caller);
  if (status !== undefined) page = page.where("status", "=", status);
  if (operation !== undefined) page = page.where("operation", "=", operation);
  if (tag.length > 0) page = page.where(database.hasAll("tags", tag));
  if (after !== undefined) {
    const last = await db
      .selectFrom("operations")
      .select("ordinal")
      .where("id", "=", after.id)
      .where("caller", "=", caller)
      .executeTakeFirst();
    page = last
      ? page.where("ordinal", "<", last.ordinal)
      : page.where("created_at", "<=", after.createdAt).where("id", "<>", after.id);
  }
  // The database adds up the sizes of the parts without a fixed size, so that rows beyond the limit are not read.
  const sized = db
    .selectFrom(
      page
        .orderBy("ordinal", "desc")
        .limit(limit + 1)
        .as("found"),
    )
    .selectAll()
    .select([
      sql<number>`count(*) over ()`.as("found_rows"),
      sql<number>`coalesce(sum(${database.jsonBytes("warnings", "failures", "error")})
      over (order by ordinal desc rows between unbounded preceding and 1 preceding), 0)`.as("bytes_before"),
    ]);
  const rows = await db
    .selectFrom(sized.as("listed"))
    .selectAll()
    .where("bytes_before", "<", bytes)
    .orderBy("ordinal", "desc")
    .execute();
  const listed = rows.slice(0, limit);
  return { rows: listed, hasMore: (rows[0]?.found_rows ?? 0) > listed.length };
}

/** Counts the operations of all callers that wait to start. */
export async function countWaiting(db: Statements): Promise<number> {
  const query = db.selectFrom("operations").select(({ fn }) => fn.countAll<number>().as("waiting"));
  return (await query.where("status", "=", "NotStarted").executeTakeFirstOrThrow()).waiting;
}

/** Counts the active operations: of all callers, and those of one caller. */
export async function countActive(
  db: Statements,
  caller: string,
): Promise<Pick<QueueView, "waiting" | "running" | "own">> {
  const rows = await db
    .selectFrom("operations")
    .select(({ fn, eb }) => [
      "status",
      fn.countAll<number>().as("all"),
      fn.sum<number>(eb.case().when("caller", "=", caller).then(1).else(0).end()).as("mine"),
    ])
    .where("status", "in", ACTIVE_STATUSES)
    .groupBy("status")
    .execute();
  const countOf = (status: OperationStatus) =>
    rows.find((row) => row.status === status) ?? { all: 0, mine: 0 };
  const [waiting, running] = [countOf("NotStarted"), countOf("Running")];
  return {
    waiting: waiting.all,
    running: running.all,
    own: { waiting: waiting.mine, running: running.mine },
  };
}

/** Records that the caller cancels a queued or running operation. @returns the operation; undefined if it has ended. */
export function requestCancel(parts: EventParts, id: string): Promise<OperationRow | undefined> {
  const { database } = parts;
  return database.write(async (db) => {
    const before = await db
      .selectFrom("operations")
      .selectAll()
      .where("id", "=", id)
      .where("status", "in", ACTIVE_STATUSES)
      .modifyEnd(database.lock("operations", "wait"))
      .executeTakeFirst();
    if (before === undefined || before.cancel_requested_at !== null) return before;
    await db
      .updateTable("operations")
      .set({ cancel_requested_at: database.time() })
      .where("id", "=", id)
      .execute();
    await appendEvents(parts, db, id, [{ type: "cancel_requested", data: {} }]);
    return before;
  });
}

/**
 * Claims a queued operation for `owner` and starts its next attempt: of the caller with the fewest running operations, then of the one
 * served longest ago, the oldest. So a newcomer waits for at most one job of each other caller.
 * @returns undefined if none is queued.
 */
export function claimOperation(database: Database, owner: string): Promise<RunningRow | undefined> {
  return database.write(async (db) => {
    const running = db
      .selectFrom("operations")
      .select(({ fn }) => ["caller", fn.countAll<number>().as("jobs")])
      .where("status", "=", "Running")
      .groupBy("caller");
    const next = await db
      .selectFrom("operations as o")
      .leftJoin(running.as("r"), "r.caller", "o.caller")
      .leftJoin("blob_usage as u", "u.caller", "o.caller")
      .select(["o.id", "o.caller"])
      .where("o.status", "=", "NotStarted")
      .where("o.not_before", "<=", database.time())
      .orderBy(sql`coalesce(r.jobs, 0)`)
      .orderBy(sql`u.served_at is not null`)
      .orderBy("u.served_at")
      .orderBy("o.ordinal")
      .limit(1)
      .modifyEnd(database.lock("o", "skip"))
      .executeTakeFirst();
    if (next === undefined) return undefined;
    const row = await db
      .updateTable("operations")
      .set(({ eb, fn }) => ({
        status: "Running",
        attempt: eb("attempt", "+", 1),
        owner,
        handle: null,
        progress: null,
        summary: null,
        attempt_started_at: database.time(),
        started_at: fn.coalesce("started_at", database.time()),
      }))
      .where("id", "=", next.id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await db
      .updateTable("blob_usage")
      .set({ served_at: database.time() })
      .where("caller", "=", next.caller)
      .execute();
    return { ...row, attempt_seconds: 0 };
  });
}

/**
 * Stores the handle of an attempt's execution, with the event `started`.
 * @returns false if the attempt is no longer the current one, or if the handle is already stored because the answer to an earlier
 * call was lost.
 */
export function recordStart(parts: EventParts, { id, attempt }: Attempt, handle: string): Promise<boolean> {
  return parts.database.write(async (db) => {
    const row = await db
      .updateTable("operations")
      .set({ handle })
      .where("id", "=", id)
      .where("attempt", "=", attempt)
      .where("status", "=", "Running")
      .where((eb) => eb.or([eb("handle", "is", null), eb("handle", "<>", handle)]))
      .returning("id")
      .executeTakeFirst();
    if (row) await appendEvents(parts, db, id, [{ type: "started", data: { attempt } }]);
    return row !== undefined;
  });
}

/**
 * Stores a batch in the operation's row and as events. Omits warnings and failures that an earlier attempt has already reported, and
 * keeps only the first of very many.
 */
export function recordProgress(
  parts: EventParts,
  { id, attempt }: Attempt,
  batch: EventBatch,
): Promise<void> {
  const { database, settings } = parts;
  return database.write(async (db) => {
    const known = await db
      .selectFrom("operations")
      .select(["warnings", "failures"])
      .where("id", "=", id)
      .where("attempt", "=", attempt)
      .where("status", "=", "Running")
      .modifyEnd(database.lock("operations", "wait"))
      .executeTakeFirst();
    if (known === undefined) return;
    const warnings = addNew(
      known.warnings,
      batch.warnings ?? [],
      ({ code, message, ticker, count }: Warning) => [code, message, ticker, count],
    );
    const failures = addNew(known.failures, batch.failures ?? [], ({ ticker, code, message }: Failure) => [
      ticker,
      code,
      message,
    ]);
    const { progress, counts, summary, epochs } = batch;
    await db
      .updateTable("operations")
      .set({
        warnings: JSON.stringify(warnings.all),
        failures: JSON.stringify(failures.all),
        ...(progress && { progress: JSON.stringify(progress) }),
        ...(counts && {
          warning_counts: JSON.stringify(counts.warnings),
          failure_counts: JSON.stringify(counts.failures),
        }),
        ...(summary && { summary: JSON.stringify(summary) }),
      })
      .where("id", "=", id)
      .execute();
    const events: NewEvent[] = [
      ...warnings.fresh.map((data) => ({ type: "warning", data }) as const),
      ...failures.fresh.map((data) => ({ type: "failure", data }) as const),
      ...(epochs ? [{ type: "epochs", data: epochs } as const] : []),
      ...(progress ? [{ type: "progress", data: progress } as const] : []),
    ];
    if (events.length === 0) return;
    const last = await appendEvents(parts, db, id, events);
    await pruneEvents(database, db, id, last, settings.events_kept);
  });
}

/**
 * Adds the entries that are not listed yet, while the list has room. @param parts tells entries apart: an earlier attempt may have
 * reported the same with its keys in another order. @returns these, and the whole list.
 */
function addNew<T extends { readonly code: string }>(
  known: readonly T[],
  reported: readonly T[],
  parts: (entry: T) => unknown[],
): { readonly all: readonly T[]; readonly fresh: readonly T[] } {
  const list = new CappedList(known);
  const seen = new Set(known.map((entry) => JSON.stringify(parts(entry))));
  const fresh = reported.flatMap((entry) => {
    if (seen.has(JSON.stringify(parts(entry)))) return [];
    const listed = list.add(entry);
    return listed === undefined ? [] : [listed];
  });
  return { all: list.entries, fresh };
}

/** How an operation ends. */
export type Ending =
  /** `bytes` of its output; null if the storage could not be asked. */
  | { readonly status: "Succeeded"; readonly record: ResultRecord; readonly bytes: number | null }
  | { readonly status: "Failed" | "Canceled"; readonly problem: Problem };

/** The last event of an operation, by its final status. */
const FINAL_EVENTS = {
  Succeeded: "succeeded",
  Failed: "failed",
  Canceled: "canceled",
} as const satisfies Record<Ending["status"], StoredEventType>;

/**
 * Ends an operation in one transaction: its status, its result or problem, the record of its output and its final event. Removes the
 * query strings of its URLs and its config, since they may contain secrets.
 * @param isTracked whether its output is to be recorded by the tracker.
 * @returns undefined if the attempt is no longer the current one, or has ended.
 */
export function endOperation(
  parts: EventParts,
  { id, attempt }: Attempt,
  ending: Ending,
  isTracked = false,
): Promise<OperationRow | undefined> {
  const { database, settings } = parts;
  return database.write(async (db) => {
    const before = await db
      .selectFrom("operations")
      .select(["feature_url", "data_extractor_url"])
      .where("id", "=", id)
      .where("attempt", "=", attempt)
      .where("status", "in", ACTIVE_STATUSES)
      .modifyEnd(database.lock("operations", "wait"))
      .executeTakeFirst();
    if (before === undefined) return undefined;
    const row = await db
      .updateTable("operations")
      .set({
        status: ending.status,
        finished_at: database.time(),
        owner: null,
        handle: null,
        feature_url: before.feature_url.split("?")[0]!,
        data_extractor_url: before.data_extractor_url.split("?")[0]!,
        config: "",
        options: "{}",
        ...(ending.status === "Succeeded"
          ? { result: JSON.stringify(ending.record) }
          : { error: JSON.stringify(ending.problem) }),
      })
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirstOrThrow();
    if (ending.status === "Succeeded") {
      const { caller, space } = row;
      await recordBlob(database, db, { caller, space, name: ending.record.output_name, bytes: ending.bytes });
      if (isTracked) await db.insertInto("tracking").values({ id }).execute();
    }
    const last = await appendEvents(parts, db, id, [
      { type: FINAL_EVENTS[ending.status], data: viewOf(row) },
    ]);
    await pruneEvents(database, db, id, last, settings.events_kept);
    return row;
  });
}

/** A longer wait is cut to this. */
const MAX_WAIT_SECONDS = 600;

/**
 * Releases a running operation to the queue. The next attempt always has the next number.
 * @param reason `drained`: its service ended in order. `refused`: the executor started nothing. A loss is recorded and counted.
 * @param waitSeconds before the next attempt may start.
 * @returns false if the attempt is no longer the current one, or belongs to another owner.
 */
export function releaseOperation(
  database: Database,
  { id, attempt, owner, losses, lost }: Pick<OperationRow, "id" | "attempt" | "owner" | "losses" | "lost">,
  reason: "drained" | "refused" | Loss,
  waitSeconds: number,
): Promise<boolean> {
  return database.write(async (db) => {
    const started = db
      .selectFrom("events")
      .select("seq")
      .where("operation_id", "=", id)
      .where("type", "=", "started");
    const hasStarted = reason !== "refused" || (await started.executeTakeFirst()) !== undefined;
    const released = await db
      .updateTable("operations")
      .set({
        status: "NotStarted",
        owner: null,
        handle: null,
        progress: null,
        not_before: database.time(Math.min(waitSeconds, MAX_WAIT_SECONDS)),
        ...(hasStarted ? {} : { started_at: null }),
        ...(typeof reason === "object" && { lost: lost + 1, losses: JSON.stringify([...losses, reason]) }),
      })
      .where("id", "=", id)
      .where("attempt", "=", attempt)
      .where("status", "=", "Running")
      .where("owner", "=", owner)
      .returning("id")
      .executeTakeFirst();
    return released !== undefined;
  });
}
