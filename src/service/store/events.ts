import { sql } from "kysely";
import type { StoredEvent, StoredEventType } from "../../contract/api/stored-event.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Database } from "../database/database.ts";
import type { Statements } from "../database/tables.ts";

type EventData<T extends StoredEventType> = Extract<StoredEvent, { type: T }>["data"];

/** An event before the database numbers it: a type of the published schema, with its data. */
export type NewEvent = {
  [T in StoredEventType]: { readonly type: T; readonly data: EventData<T> };
}[StoredEventType];

/** What storing an event needs. */
export interface EventParts {
  readonly database: Database;
  readonly webhooks: WebhookTypes;
}

/** Stores the next events of an operation. @returns the number of its last event. */
export async function appendEvents(
  parts: EventParts,
  db: Statements,
  id: string,
  events: readonly NewEvent[],
): Promise<number> {
  const { last_seq } = await db
    .updateTable("operations")
    .set(({ eb }) => ({ last_seq: eb("last_seq", "+", events.length) }))
    .where("id", "=", id)
    .returning("last_seq")
    .executeTakeFirstOrThrow();
  await storeEvents(parts, db, id, last_seq - events.length, events);
  return last_seq;
}

/**
 * Stores events with the numbers after `before`, and a delivery for each webhook target that wants one. When the transaction commits,
 * the database notifies every service.
 */
export async function storeEvents(
  { database, webhooks }: EventParts,
  db: Statements,
  operation_id: string,
  before: number,
  events: readonly NewEvent[],
): Promise<void> {
  const numbered = events.map(({ type, data }, index) => ({
    ...{ operation_id, seq: before + index + 1, type },
    data: JSON.stringify(data),
  }));
  await db.insertInto("events").values(numbered).execute();
  const deliveries = numbered.flatMap(({ seq, type }) =>
    webhooks.targetsOf(type).map((target) => ({ operation_id, seq, target })),
  );
  if (deliveries.length > 0) await db.insertInto("webhook_deliveries").values(deliveries).execute();
  await database.notify(
    db,
    events.map(({ type }) => `${type}:${operation_id}`),
  );
}

/** Maximum size of one read. */
interface Portion {
  readonly events: number;
  /** JSON text. An event is read if the previous ones are below the limit, so the first one always is. */
  readonly bytes: number;
}

/** Reads the events with a number above `after`, in order, as many as fit into a portion. */
export async function readEvents(
  database: Database,
  id: string,
  after: number,
  portion: Portion,
): Promise<StoredEvent[]> {
  const { db } = database;
  const found = db
    .selectFrom("events")
    .select(["seq", "type", "data", "created_at"])
    .where("operation_id", "=", id)
    .where("seq", ">", after)
    .orderBy("seq")
    .limit(portion.events);
  const sized = db
    .selectFrom(found.as("found"))
    .selectAll()
    .select(
      sql<number>`coalesce(sum(${database.jsonBytes("data")})
        over (order by seq rows between unbounded preceding and 1 preceding), 0)`.as("bytes_before"),
    );
  const rows = await db
    .selectFrom(sized.as("sized"))
    .select(["seq", "type", "data", "created_at"])
    .where("bytes_before", "<", portion.bytes)
    .orderBy("seq")
    .execute();
  return rows.map(
    ({ seq, type, data, created_at }) =>
      ({ seq, operation_id: id, time: created_at.toISOString(), type, data }) as unknown as StoredEvent,
  );
}

/** JSON text of the epochs kept per operation, and the fewest events that may exceed it. */
const EPOCHS = { bytes: 32 * 2 ** 20, events: 40 };

/**
 * Removes the events beyond the newest `kept`: progress first, then the oldest. Epochs are counted separately, so that they displace
 * no other event. A reader of removed epochs gets no snapshot, since the output has all epochs.
 * @param last number of the newest event.
 */
export async function pruneEvents(
  database: Database,
  db: Statements,
  id: string,
  last: number,
  kept: number,
): Promise<void> {
  if (last <= Math.min(kept, EPOCHS.events)) return;
  const newest = sql`partition by type = 'epochs' order by type = 'progress', seq desc`;
  const ranked = db
    .selectFrom("events")
    .select([
      "seq",
      "type",
      sql<number>`row_number() over (${newest})`.as("nth"),
      sql<number>`sum(${database.jsonBytes("data")}) over (${newest})`.as("bytes"),
    ])
    .where("operation_id", "=", id);
  const beyond = db
    .selectFrom(ranked.as("ranked"))
    .select("seq")
    .where((eb) =>
      eb.or([eb("nth", ">", kept), eb.and([eb("type", "=", "epochs"), eb("bytes", ">", EPOCHS.bytes)])]),
    );
  const removed = await db
    .deleteFrom("events")
    .where("operation_id", "=", id)
    .where("seq", "in", beyond)
    .returning(["seq", "type"])
    .execute();
  const pruned = removed.filter(({ type }) => type !== "epochs").map(({ seq }) => seq);
  if (pruned.length === 0) return;
  const newestPruned = Math.max(...pruned);
  await db
    .updateTable("operations")
    .set({ pruned_seq: newestPruned })
    .where("id", "=", id)
    .where("pruned_seq", "<", newestPruned)
    .execute();
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
