import type { OperationView } from "../../contract/operation-view.ts";
import type { StoredEvent, StoredEventType } from "../../contract/stored-event.ts";
import type { Queryable } from "../database/database.ts";
import type { WebhookTypes } from "./webhook-types.ts";

/** The channel on which every service hears of changes; the payload is `<event type>:<operation id>`. */
export const CHANNEL = "mucast_operations";

/**
 * Stores the next event of an operation, one delivery for each webhook target that wants it, and tells everyone who
 * listens once the transaction commits.
 */
export async function appendEvent(
  statements: Queryable,
  id: string,
  type: StoredEventType,
  data: object,
  webhooks: WebhookTypes,
): Promise<void> {
  const { rows } = await statements.query<{ seq: number }>(
    `with numbered as (
       update operations set last_seq = last_seq + 1 where id = $1 returning last_seq
     )
     insert into events (operation_id, seq, type, data)
     select $1, last_seq, $2, $3::json from numbered
     returning seq`,
    [id, type, JSON.stringify(data)],
  );
  const targets = webhooks.targetsOf(type);
  if (targets.length > 0) {
    await statements.query(
      "insert into webhook_deliveries (operation_id, seq, target) select $1, $2, unnest($3::text[])",
      [id, rows[0]!.seq, targets],
    );
  }
  await statements.query("select pg_notify($1, $2)", [CHANNEL, `${type}:${id}`]);
}

interface EventRow {
  readonly seq: number;
  readonly type: StoredEventType;
  readonly data: OperationView;
  readonly created_at: Date;
}

/** At most `limit` events with a number above `after`, in their order. */
export async function readEvents(
  statements: Queryable,
  id: string,
  after: number,
  limit: number,
): Promise<StoredEvent[]> {
  const { rows } = await statements.query<EventRow>(
    "select seq, type, data, created_at from events where operation_id = $1 and seq > $2 order by seq limit $3",
    [id, after, limit],
  );
  return rows.map(
    ({ seq, type, data, created_at }) =>
      ({ seq, operation_id: id, time: created_at.toISOString(), type, data }) as unknown as StoredEvent,
  );
}

/** Forgets what is beyond the newest `kept` events: progress first, then whatever is oldest. */
export async function pruneEvents(statements: Queryable, id: string, kept: number): Promise<void> {
  await statements.query(
    `with kept as (
       select e.seq from events e join operations o on o.id = e.operation_id
       where o.id = $1 and o.last_seq > $2 and (e.seq > o.last_seq - $2 or e.type <> 'progress')
       order by e.seq desc limit $2
     ), removed as (
       delete from events e using operations o
       where o.id = $1 and e.operation_id = o.id and o.last_seq > $2 and e.seq not in (select seq from kept)
       returning e.seq
     )
     update operations set pruned_seq = greatest(pruned_seq, (select max(seq) from removed))
     where id = $1 and exists (select 1 from removed)`,
    [id, kept],
  );
}
