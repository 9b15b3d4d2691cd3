import { SIZES } from "../../contract/api/answer-limits.ts";
import type { OperationView } from "../../contract/api/operation-view.ts";
import type { StoredEvent, StoredEventType } from "../../contract/api/stored-event.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Queryable } from "../database/database.ts";

/** The channel of the notifications to every service; the payload is `<event type>:<operation id>`. */
export const CHANNEL = "mucast_operations";

/** An event that is not numbered yet. */
export interface NewEvent {
  readonly type: StoredEventType;
  readonly data: object;
}

/**
 * Stores the next events of an operation, one delivery for each webhook target that wants one, and tells everyone who
 * listens once the transaction commits. One statement, however many they are.
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
  // A part that only selects, as `told`, is done only where something reads it: hence the count.
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
     ), told as (
       select pg_notify($6, type || ':' || $1) from stored
     )
     select last_seq, (select count(*) from told) from numbered`,
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

/** How much is read at once. */
export interface Portion {
  readonly events: number;
  /** Of JSON text; an event is given where those before it come to less, so the first always is. */
  readonly bytes: number;
}

/** The events with a number above `after`, in their order, that a portion has room for. */
export async function readEvents(
  statements: Queryable,
  id: string,
  after: number,
  portion: Portion,
): Promise<StoredEvent[]> {
  // One after the other: the database compresses what repeats itself, and how large it was is known only once it is unpacked.
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

/** Bytes, as the database stores them, of the epochs of an operation that are kept. */
const EPOCHS_BYTES = 8 * 2 ** 20;

/**
 * Forgets what is beyond the newest `kept` events, where the last is `last`: progress first, then whatever is oldest.
 * Epochs are counted by themselves, so that they push out nothing else, and where they are gone a reader goes on
 * without a snapshot: the output has them all.
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

/** Which of the operator's targets want which events. */
export interface WebhookTypes {
  /** Names of targets. */
  targetsOf(type: StoredEventType): readonly string[];
}

export function webhookTypes(targets: readonly WebhookTarget[]): WebhookTypes {
  return {
    targetsOf: (type) => targets.filter(({ types }) => types.includes(type)).map(({ name }) => name),
  };
}
