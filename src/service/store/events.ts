import { sql } from "kysely";
import type { StoredEvent } from "../../contract/api/stored-event.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Database } from "../database/database.ts";
import type { OperationRow, Statements } from "../database/tables.ts";

type Unnumbered<E> = E extends StoredEvent ? Pick<E, "type" | "data"> : never;
export type NewEvent = Unnumbered<StoredEvent>;

export interface EventParts {
  readonly database: Database;
  readonly webhooks: readonly Pick<WebhookTarget, "name" | "types">[];
  readonly settings: { readonly events_kept: number };
}

/** The commit notifies every service. @param operation its row as changed: `last_seq` counts these events already. */
export async function appendEvents(
  { database, webhooks, settings }: EventParts,
  db: Statements,
  { id: operation_id, last_seq }: Pick<OperationRow, "id" | "last_seq">,
  events: readonly NewEvent[],
): Promise<void> {
  const numbered = events.map(({ type, data }, index) => {
    const seq = last_seq - events.length + index + 1;
    return { operation_id, seq, type, data: JSON.stringify(data) };
  });
  await database.insertEvents(db, numbered);
  const deliveries = numbered.flatMap(({ seq, type }) =>
    webhooks
      .filter(({ types }) => types.includes(type))
      .map(({ name }) => ({ operation_id, seq, target: name })),
  );
  if (deliveries.length > 0) await db.insertInto("webhook_deliveries").values(deliveries).execute();
  await pruneEvents(database, db, operation_id, last_seq, settings.events_kept);
}

/** @param bytes an event is read if those before it have fewer as JSON, so the first one always is. */
export async function readEvents(
  database: Database,
  operation_id: string,
  after: number,
  limit: number,
  bytes = Number.MAX_SAFE_INTEGER,
): Promise<StoredEvent[]> {
  const { db } = database;
  const found = db
    .selectFrom("events")
    .select(["seq", "type", "data", "created_at"])
    .where("operation_id", "=", operation_id)
    .where("seq", ">", after)
    .orderBy("seq")
    .limit(limit);
  const before = sql`over (order by seq rows between unbounded preceding and 1 preceding)`;
  const sized = db
    .selectFrom(found.as("found"))
    .selectAll()
    .select(sql<number>`coalesce(sum(${database.jsonBytes("data")}) ${before}, 0)`.as("bytes_before"));
  const rows = await db
    .selectFrom(sized.as("sized"))
    .selectAll()
    .where("bytes_before", "<", bytes)
    .orderBy("seq")
    .execute();
  return rows.map(
    ({ seq, type, data, created_at }) =>
      ({ seq, operation_id, time: created_at.toISOString(), type, data }) as StoredEvent,
  );
}

/** JSON text of the epochs kept per operation, and the fewest events that may exceed it. */
const EPOCHS = { bytes: 32 * 2 ** 20, events: 40 };

/** Progress first, then the oldest. Epochs are counted apart: they displace no other event, and no snapshot replaces them. */
async function pruneEvents(
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
  const pruned_seq = Math.max(0, ...removed.filter(({ type }) => type !== "epochs").map(({ seq }) => seq));
  await db
    .updateTable("operations")
    .set({ pruned_seq })
    .where("id", "=", id)
    .where("pruned_seq", "<", pruned_seq)
    .execute();
}
