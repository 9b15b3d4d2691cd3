import { type Selectable, sql } from "kysely";
import type { OperationStatus } from "../../contract/api/operation-view.ts";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import type { Database } from "../database/database.ts";
import type { Statements, Tables } from "../database/tables.ts";
import { overQuota, type Quota, type StorageKey, type Usage } from "./blobs.ts";
import { type EventParts, storeEvents } from "./events.ts";
import { ACTIVE_STATUSES, type PageEnd, VIEWED, type ViewedRow } from "./operation-view.ts";

export type OperationRow = Selectable<Tables["operations"]>;

/** An operation with the seconds that its attempt has run, by the database's clock. */
export type RunningRow = OperationRow & { readonly attempt_seconds: number | null };

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
  { database, webhooks }: EventParts,
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
      .where(({ and }) => and({ caller, status: "NotStarted" }))
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
      .where(({ and }) => and({ caller, name: blob.name, space: blob.space, state: "stored" }))
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
    .where(({ and }) => and({ caller, idempotency_key: idempotencyKey }))
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
    .where(({ and }) => and({ id, caller }))
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
    .where(({ and }) => and({ id, caller }));
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
      .where(({ and }) => and({ id: after.id, caller }))
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
