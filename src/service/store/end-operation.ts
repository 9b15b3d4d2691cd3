import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import type { Database, Queryable } from "../database/database.ts";
import { recordBlob } from "./blob-records.ts";
import type { Attempt } from "./claim-operation.ts";
import { appendEvents, pruneEvents, type WebhookTypes } from "./events.ts";
import { ACTIVE_STATUSES, type Loss, MAX_WAIT_SECONDS, type OperationRow, viewOf } from "./operation-rows.ts";

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
 * @returns undefined if the attempt is no longer the current one, or has ended.
 */
export function endOperation(
  database: Database,
  attempt: Attempt,
  ending: Ending,
  kept: { readonly events: number; readonly webhooks: WebhookTypes },
): Promise<OperationRow | undefined> {
  return database.transaction(async (statements) => {
    const row = await end(statements, attempt, ending);
    if (!row) return undefined;
    if (ending.status === "Succeeded") {
      const { caller, space } = row;
      await recordBlob(statements, { caller, space, name: ending.record.output_name, bytes: ending.bytes });
    }
    const event = { type: FINAL_EVENTS[ending.status], data: viewOf(row) };
    const last = await appendEvents(statements, row.id, [event], kept.webhooks);
    await pruneEvents(statements, row.id, last, kept.events);
    return row;
  });
}

async function end(
  statements: Queryable,
  { id, attempt }: Attempt,
  ending: Ending,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `update operations
     set status = $3, finished_at = now(), owner = null, lease_until = null, handle = null,
       result = $4::json, error = $5::json,
       feature_url = split_part(feature_url, '?', 1), data_extractor_url = split_part(data_extractor_url, '?', 1),
       config = '', options = '{}'
     where id = $1 and attempt = $2 and status in ${ACTIVE_STATUSES}
     returning *`,
    [
      id,
      attempt,
      ending.status,
      ending.status === "Succeeded" ? JSON.stringify(ending.record) : null,
      ending.status === "Succeeded" ? null : JSON.stringify(ending.problem),
    ],
  );
  return rows[0];
}

/** `drained`: its service ended in order. `refused`: the executor started nothing. A loss is recorded and counted. */
type ReleaseReason = "drained" | "refused" | Loss;

/**
 * Releases a running operation to the queue. The next attempt always has the next number.
 * @param waitSeconds before the next attempt may start.
 * @returns false if the attempt is no longer the current one, or belongs to another owner.
 */
export async function releaseOperation(
  statements: Queryable,
  { id, attempt, owner, losses }: Pick<OperationRow, "id" | "attempt" | "owner" | "losses">,
  reason: ReleaseReason,
  waitSeconds: number,
): Promise<boolean> {
  const loss = typeof reason === "object" ? reason : undefined;
  const { rows } = await statements.query(
    `update operations
     set status = 'NotStarted', owner = null, lease_until = null, handle = null, progress = null,
       lost = lost + case when $6::json is null then 0 else 1 end, losses = coalesce($6::json, losses),
       started_at = case
         when $3 and not exists (select 1 from events where operation_id = $1 and type = 'started')
         then null else started_at
       end,
       not_before = now() + make_interval(secs => $4)
     where id = $1 and attempt = $2 and status = 'Running' and owner = $5
     returning id`,
    [
      id,
      attempt,
      reason === "refused",
      Math.min(waitSeconds, MAX_WAIT_SECONDS),
      owner,
      loss === undefined ? null : JSON.stringify([...losses, loss]),
    ],
  );
  return rows.length > 0;
}

/** Records that the caller cancels a queued or running operation. @returns the operation; undefined if it has ended. */
export function requestCancel(
  database: Database,
  id: string,
  webhooks: WebhookTypes,
): Promise<OperationRow | undefined> {
  return database.transaction(async (statements) => {
    const { rows } = await statements.query<OperationRow & { first: boolean }>(
      `with before as (
         select id, cancel_requested_at from operations
         where id = $1 and status in ${ACTIVE_STATUSES} for update
       )
       update operations o set cancel_requested_at = coalesce(o.cancel_requested_at, now())
       from before where o.id = before.id
       returning o.*, before.cancel_requested_at is null as first`,
      [id],
    );
    const row = rows[0];
    if (row?.first) await appendEvents(statements, id, [{ type: "cancel_requested", data: {} }], webhooks);
    return row;
  });
}
