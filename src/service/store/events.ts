import type { OperationView } from "../../contract/api/operation-view.ts";
import type { StoredEvent, StoredEventType } from "../../contract/api/stored-event.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Queryable } from "../database/database.ts";

/** The channel of the notifications to every service; the payload is `<event type>:<operation id>`. */
export const CHANNEL = "mucast_operations";

type EventData<T extends StoredEventType> = Extract<StoredEvent, { type: T }>["data"];

/** An event before the database numbers it: a type of the published schema, with its data. */
export type NewEvent = {
  [T in StoredEventType]: { readonly type: T; readonly data: EventData<T> };
}[StoredEventType];

/**
 * Stores the next events of an operation in one statement, with a delivery for each webhook target that wants the event.
 * When the transaction commits, the database notifies every service.
 * @returns the number of the last event of the operation.
 */
export async function appendEvents(
  statements: Queryable,
  id: string,
  events: readonly NewEvent[],
  webhooks: WebhookTypes,
): Promise<number> {
  const deliveries = events.flatMap(({ type }, index) =>
    webhooks.targetsOf(type).map((target) => ({ nth: index + 1, target })),
  );
  // PostgreSQL runs a part that only selects, as `notified` does, only if the statement reads it: hence the count.
  const { rows } = await statements.query<{ last_seq: number }>(
    `with numbered as (
       update operations set last_seq = last_seq + cardinality($2::text[]) where id = $1
       returning last_seq, last_seq - cardinality($2::text[]) as before
     ), stored as (
       insert into events (operation_id, seq, type, data)
       select $1, before + nth, type, data::json
       from numbered, unnest($2::text[], $3::text[]) with ordinality as new (type, data, nth)
       returning type
     ), delivered as (
       insert into webhook_deliveries (operation_id, seq, target)
       select $1, before + nth, target from numbered, unnest($4::int[], $5::text[]) as wanted (nth, target)
     ), notified as (
       select pg_notify($6, type || ':' || $1) from stored
     )
     select last_seq, (select count(*) from notified) from numbered`,
    [
      id,
      events.map(({ type }) => type),
      events.map(({ data }) => JSON.stringify(data)),
      deliveries.map(({ nth }) => nth),
      deliveries.map(({ target }) => target),
      CHANNEL,
    ],
  );
  return rows[0]!.last_seq;
}

interface EventRow {
  readonly seq: number;
  readonly type: StoredEventType;
  readonly data: OperationView;
  readonly created_at: Date;
}

/** Maximum size of one read. */
interface Portion {
  readonly events: number;
  /** JSON text. An event is read if the previous ones are below the limit, so the first one always is. */
  readonly bytes: number;
}

/** Reads the events with a number above `after`, in order, as many as fit into a portion. */
export async function readEvents(
  statements: Queryable,
  id: string,
  after: number,
  portion: Portion,
): Promise<StoredEvent[]> {
  // One row at a time: the database stores data compressed, and knows its size only after it has unpacked it.
  const { rows } = await statements.query<EventRow>(
    `with recursive portion as (
       select found.*, 1 as nth, octet_length(found.data::text) as bytes from (
         select seq, type, data, created_at from events
         where operation_id = $1 and seq > $2 order by seq limit 1
       ) found
       union all
       select found.*, portion.nth + 1, portion.bytes + octet_length(found.data::text)
       from portion, lateral (
         select seq, type, data, created_at from events
         where operation_id = $1 and seq > portion.seq order by seq limit 1
       ) found
       where portion.nth < $3 and portion.bytes < $4
     )
     select seq, type, data, created_at from portion order by seq`,
    [id, after, portion.events, portion.bytes],
  );
  return rows.map(
    ({ seq, type, data, created_at }) =>
      ({ seq, operation_id: id, time: created_at.toISOString(), type, data }) as unknown as StoredEvent,
  );
}

/** Bytes of the epochs kept per operation, as the database stores them. */
const EPOCHS_BYTES = 8 * 2 ** 20;

/**
 * Removes the events beyond the newest `kept`: progress first, then the oldest. Epochs are counted separately, so that they displace
 * no other event. A reader of removed epochs gets no snapshot, since the output has all epochs.
 * @param last number of the newest event.
 */
export async function pruneEvents(
  statements: Queryable,
  id: string,
  last: number,
  kept: number,
): Promise<void> {
  if (last <= Math.min(kept, EPOCHS_BYTES / SIZES.epochs)) return;
  await statements.query(
    `with ranked as (
       select seq, type, row_number() over newest as nth, sum(pg_column_size(data)) over newest as bytes
       from events where operation_id = $1
       window newest as (partition by type = 'epochs' order by type = 'progress', seq desc)
     ), removed as (
       delete from events where operation_id = $1
         and seq in (select seq from ranked where nth > $2 or (type = 'epochs' and bytes > $3))
       returning seq, type
     )
     update operations
     set pruned_seq = greatest(pruned_seq, (select max(seq) from removed where type <> 'epochs'))
     where id = $1 and exists (select 1 from removed where type <> 'epochs')`,
    [id, kept, EPOCHS_BYTES],
  );
}

/** Which of the operator's targets receive which events. */
export interface WebhookTypes {
  /** Names of the targets that want a type. */
  targetsOf(type: StoredEventType): readonly string[];
}

export function webhookTypes(targets: readonly WebhookTarget[]): WebhookTypes {
  return {
    targetsOf: (type) => targets.filter(({ types }) => types.includes(type)).map(({ name }) => name),
  };
}
