import { sql } from "kysely";
import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { EventBatch } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure, Problem } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { CappedList } from "../../contract/schema/answer-limits.ts";
import type { Database } from "../database/database.ts";
import type { Loss, OperationRow } from "../database/tables.ts";
import { recordBlob } from "./blobs.ts";
import { appendEvents, type EventParts, type NewEvent, pruneEvents } from "./events.ts";
import { ACTIVE_STATUSES, viewOf } from "./operation-view.ts";

/** One attempt at an operation. Every change of an operation names both, so that an outdated attempt changes nothing. */
type Attempt = Pick<OperationRow, "id" | "attempt">;

interface AttemptParts extends EventParts {
  readonly settings: { readonly events_kept: number };
}

/** An operation with the seconds that its attempt has run, by the database's clock. */
export type RunningRow = OperationRow & { readonly attempt_seconds: number | null };

/** Reads an operation of any caller. */
export function readOperation(database: Database, id: string): Promise<RunningRow | undefined> {
  return database.db
    .selectFrom("operations")
    .selectAll()
    .select(database.secondsSince("attempt_started_at").as("attempt_seconds"))
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Records that the caller cancels a queued or running operation. @returns the operation; undefined if it has ended. */
export function requestCancel(parts: AttemptParts, id: string): Promise<OperationRow | undefined> {
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
    const cancel_requested_at = database.time();
    await db.updateTable("operations").set({ cancel_requested_at }).where("id", "=", id).execute();
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
    const now = database.time();
    const row = await db
      .updateTable("operations")
      .set(({ eb, fn }) => ({
        ...{ status: "Running", owner, handle: null, progress: null, summary: null },
        attempt: eb("attempt", "+", 1),
        attempt_started_at: now,
        started_at: fn.coalesce("started_at", now),
      }))
      .where("id", "=", next.id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await db.updateTable("blob_usage").set({ served_at: now }).where("caller", "=", next.caller).execute();
    return { ...row, attempt_seconds: 0 };
  });
}

/**
 * Stores the handle of an attempt's execution, with the event `started`.
 * @returns false if the attempt is no longer the current one, or if the handle is already stored because the answer to an earlier
 * call was lost.
 */
export function recordStart(parts: AttemptParts, { id, attempt }: Attempt, handle: string): Promise<boolean> {
  return parts.database.write(async (db) => {
    const row = await db
      .updateTable("operations")
      .set({ handle })
      .where(({ and }) => and({ id, attempt, status: "Running" }))
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
  parts: AttemptParts,
  { id, attempt }: Attempt,
  batch: EventBatch,
): Promise<void> {
  const { database, settings } = parts;
  const { progress, counts, summary, epochs } = batch;
  return database.write(async (db) => {
    const known = await db
      .selectFrom("operations")
      .select(["warnings", "failures"])
      .where(({ and }) => and({ id, attempt, status: "Running" }))
      .modifyEnd(database.lock("operations", "wait"))
      .executeTakeFirst();
    if (known === undefined) return;
    const warnings = addNew<Warning>(known.warnings, batch.warnings, (w) => [
      w.code,
      w.message,
      w.ticker,
      w.count,
    ]);
    const failures = addNew<Failure>(known.failures, batch.failures, (f) => [f.ticker, f.code, f.message]);
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
 * Adds the entries that are not listed yet, while the list has room. @param partsOf tells entries apart: an earlier attempt may have
 * reported the same with its keys in another order. @returns these, and the whole list.
 */
function addNew<T extends { readonly code: string }>(
  known: readonly T[],
  reported: readonly T[] = [],
  partsOf: (entry: T) => unknown[],
): { readonly all: readonly T[]; readonly fresh: readonly T[] } {
  const list = new CappedList(known);
  const seen = new Set(known.map((entry) => JSON.stringify(partsOf(entry))));
  const fresh = reported.flatMap((entry) => {
    if (seen.has(JSON.stringify(partsOf(entry)))) return [];
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
  parts: AttemptParts,
  { id, attempt }: Attempt,
  ending: Ending,
  isTracked = false,
): Promise<OperationRow | undefined> {
  const { database, settings } = parts;
  return database.write(async (db) => {
    const before = await db
      .selectFrom("operations")
      .select(["feature_url", "data_extractor_url"])
      .where(({ and }) => and({ id, attempt }))
      .where("status", "in", ACTIVE_STATUSES)
      .modifyEnd(database.lock("operations", "wait"))
      .executeTakeFirst();
    if (before === undefined) return undefined;
    const row = await db
      .updateTable("operations")
      .set({
        ...{ status: ending.status, finished_at: database.time(), owner: null, handle: null },
        ...{ config: "", options: "{}" },
        feature_url: before.feature_url.split("?")[0]!,
        data_extractor_url: before.data_extractor_url.split("?")[0]!,
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
    const final = { type: FINAL_EVENTS[ending.status], data: viewOf(row) };
    const last = await appendEvents(parts, db, id, [final]);
    await pruneEvents(database, db, id, last, settings.events_kept);
    return row;
  });
}

const MAX_WAIT_SECONDS = 600;

/**
 * Releases a running operation to the queue. The next attempt always has the next number.
 * @param reason `drained`: its service ended in order. `refused`: the executor started nothing. A loss is recorded and counted.
 * @param waitSeconds before the next attempt may start; ten minutes at most.
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
      .where(({ and }) => and({ operation_id: id, type: "started" }));
    const hasStarted = reason !== "refused" || (await started.executeTakeFirst()) !== undefined;
    const released = await db
      .updateTable("operations")
      .set({
        ...{ status: "NotStarted", owner: null, handle: null, progress: null },
        not_before: database.time(Math.min(waitSeconds, MAX_WAIT_SECONDS)),
        ...(hasStarted ? {} : { started_at: null }),
        ...(typeof reason === "object" && { lost: lost + 1, losses: JSON.stringify([...losses, reason]) }),
      })
      .where(({ and }) => and({ id, attempt, status: "Running", owner }))
      .returning("id")
      .executeTakeFirst();
    return released !== undefined;
  });
}
