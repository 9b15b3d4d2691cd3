import { sql } from "kysely";
import type { EventBatch } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure, Problem } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { CappedList } from "../../contract/schema/answer-limits.ts";
import type { Database } from "../database/database.ts";
import type { Loss, OperationRow } from "../database/tables.ts";
import { recordBlob } from "./blobs.ts";
import { appendEvents, type EventParts, type NewEvent } from "./events.ts";
import { ACTIVE_STATUSES, viewOf } from "./operation-view.ts";

/** One attempt at an operation. Every change of an operation names both, so that an outdated attempt changes nothing. */
type Attempt = Pick<OperationRow, "id" | "attempt">;

/** An operation with the seconds that its attempt has run, by the database's clock. */
export type RunningRow = OperationRow & { readonly attempt_seconds: number | null };

export function readOperation(database: Database, id: string): Promise<RunningRow | undefined> {
  return database.db
    .selectFrom("operations")
    .selectAll()
    .select(database.secondsSince("attempt_started_at").as("attempt_seconds"))
    .where("id", "=", id)
    .executeTakeFirst();
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
    const cancel_requested_at = database.time();
    const last_seq = before.last_seq + 1;
    await db.updateTable("operations").set({ cancel_requested_at, last_seq }).where("id", "=", id).execute();
    await appendEvents(parts, db, { id, last_seq }, [{ type: "cancel_requested", data: {} }]);
    return before;
  });
}

/** The oldest of the caller with the fewest running ones, then of the one served longest ago: newcomers wait for one job of each other. */
export function claimOperation(database: Database, owner: string): Promise<RunningRow | undefined> {
  return database.write(async (db) => {
    const running = db
      .selectFrom("operations")
      .select(({ fn }) => ["caller", fn.countAll<number>().as("jobs")])
      .where("status", "=", "Running")
      .groupBy("caller");
    const next = db
      .selectFrom("operations as o")
      .leftJoin(running.as("r"), "r.caller", "o.caller")
      .leftJoin("blob_usage as u", "u.caller", "o.caller")
      .select("o.id")
      .where("o.status", "=", "NotStarted")
      .where("o.not_before", "<=", database.time())
      .orderBy(sql`coalesce(r.jobs, 0)`)
      .orderBy(sql`u.served_at is not null`)
      .orderBy("u.served_at")
      .orderBy("o.ordinal")
      .limit(1)
      .modifyEnd(database.lock("o", "skip"));
    const now = database.time();
    const row = await db
      .updateTable("operations")
      .set(({ eb, fn }) => ({
        ...{ status: "Running", owner, handle: null, progress: null, summary: null },
        attempt: eb("attempt", "+", 1),
        attempt_started_at: now,
        started_at: fn.coalesce("started_at", now),
      }))
      .where("id", "=", next)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    await db.updateTable("blob_usage").set({ served_at: now }).where("caller", "=", row.caller).execute();
    return { ...row, attempt_seconds: 0 };
  });
}

/** @returns false if the attempt is no longer the current one, or the answer to an earlier call was lost. */
export function recordStart(parts: EventParts, { id, attempt }: Attempt, handle: string): Promise<boolean> {
  return parts.database.write(async (db) => {
    const row = await db
      .updateTable("operations")
      .set(({ eb }) => ({ handle, last_seq: eb("last_seq", "+", 1) }))
      .where(({ and }) => and({ id, attempt, status: "Running" }))
      .where((eb) => eb.or([eb("handle", "is", null), eb("handle", "<>", handle)]))
      .returning(["id", "last_seq"])
      .executeTakeFirst();
    if (row) await appendEvents(parts, db, row, [{ type: "started", data: { attempt } }]);
    return row !== undefined;
  });
}

/** Omits warnings and failures that an earlier attempt has reported, and keeps only the first of very many. */
export function recordProgress(
  parts: EventParts,
  { id, attempt }: Attempt,
  batch: EventBatch,
): Promise<void> {
  const { database } = parts;
  const { progress, counts, summary, epochs } = batch;
  return database.write(async (db) => {
    const known = await db
      .selectFrom("operations")
      .select(["warnings", "failures", "last_seq"])
      .where(({ and }) => and({ id, attempt, status: "Running" }))
      .modifyEnd(database.lock("operations", "wait"))
      .executeTakeFirst();
    if (known === undefined) return;
    const warnings = addNew(known.warnings, batch.warnings);
    const failures = addNew(known.failures, batch.failures);
    const events: NewEvent[] = [
      ...warnings.fresh.map((data) => ({ type: "warning", data }) as const),
      ...failures.fresh.map((data) => ({ type: "failure", data }) as const),
      ...(epochs ? [{ type: "epochs", data: epochs } as const] : []),
      ...(progress ? [{ type: "progress", data: progress } as const] : []),
    ];
    const last_seq = known.last_seq + events.length;
    await db
      .updateTable("operations")
      .set({
        last_seq,
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
    if (events.length > 0) await appendEvents(parts, db, { id, last_seq }, events);
  });
}

function addNew<T extends Warning | Failure>(known: readonly T[], reported: readonly T[] = []) {
  const list = new CappedList(known);
  // An earlier attempt may have reported the same with its keys in another order.
  const keyOf = (entry: T) => JSON.stringify(Object.entries(entry).toSorted());
  const seen = new Set(known.map(keyOf));
  const fresh = reported.filter((entry) => !seen.has(keyOf(entry))).flatMap((entry) => list.add(entry) ?? []);
  return { all: list.entries, fresh };
}

export type Ending =
  /** `bytes` of its output; null if the storage could not be asked. */
  | { readonly status: "Succeeded"; readonly record: ResultRecord; readonly bytes: number | null }
  | { readonly status: "Failed" | "Canceled"; readonly problem: Problem };

/** Removes the queries of its URLs and its config, which may hold secrets. @returns undefined if the attempt is not the current one. */
export function endOperation(
  parts: EventParts,
  { id, attempt, ...urls }: Attempt & Pick<OperationRow, "feature_url" | "data_extractor_url">,
  ending: Ending,
  isTracked = false,
): Promise<OperationRow | undefined> {
  const { database } = parts;
  return database.write(async (db) => {
    const row = await db
      .updateTable("operations")
      .set(({ eb }) => ({
        ...{ status: ending.status, finished_at: database.time(), owner: null, handle: null },
        ...{ config: "", options: "{}", last_seq: eb("last_seq", "+", 1) },
        feature_url: urls.feature_url.split("?")[0]!,
        data_extractor_url: urls.data_extractor_url.split("?")[0]!,
        ...(ending.status === "Succeeded"
          ? { result: JSON.stringify(ending.record) }
          : { error: JSON.stringify(ending.problem) }),
      }))
      .where(({ and }) => and({ id, attempt }))
      .where("status", "in", ACTIVE_STATUSES)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    if (ending.status === "Succeeded") {
      const { caller, space } = row;
      await recordBlob(database, db, { caller, space, name: ending.record.output_name, bytes: ending.bytes });
      if (isTracked) await db.insertInto("tracking").values({ id }).execute();
    }
    const final = { type: ending.status.toLowerCase() as Lowercase<Ending["status"]>, data: viewOf(row) };
    await appendEvents(parts, db, row, [final]);
    return row;
  });
}

const MAX_WAIT_SECONDS = 600;

/** @param reason `drained`: its service ended in order. `refused`: nothing was started. @returns false if it is not the current one. */
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
