import type { Database } from "../database/database.ts";
import { appendEvents } from "./events.ts";
import type { OperationRow } from "./operation-row.ts";
import type { WebhookTypes } from "./webhook-types.ts";

/** Marks a waiting or running operation as not wanted any more, once. @returns it; undefined where it has ended. */
export function requestCancel(
  database: Database,
  id: string,
  webhooks: WebhookTypes,
): Promise<OperationRow | undefined> {
  return database.transaction(async (statements) => {
    const { rows } = await statements.query<OperationRow & { first: boolean }>(
      `with before as (
         select id, cancel_requested_at from operations
         where id = $1 and status in ('NotStarted', 'Running') for update
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
