import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { Database } from "../database/database.ts";

/** A delivery that this service has claimed for one attempt. */
export interface DueDelivery {
  readonly id: number;
  readonly operation_id: string;
  readonly seq: number;
  /** Number of started attempts, including this one. */
  readonly attempt: number;
  /** Undefined if retention has removed it. */
  readonly event: { readonly type: StoredEventType; readonly data: object; readonly time: Date } | undefined;
}

/** Claims due deliveries of a target, the longest due first, until their outcome is stored or the lease of `owner` expires. */
export function claimDeliveries(
  database: Database,
  owner: string,
  target: string,
  most: number,
): Promise<DueDelivery[]> {
  return database.write(async (db) => {
    const due = await db
      .selectFrom("webhook_deliveries as d")
      .select("d.id")
      .where("d.target", "=", target)
      .where("d.delivered_at", "is", null)
      .where("d.failed_at", "is", null)
      .where("d.owner", "is", null)
      .where("d.next_at", "<=", database.time())
      .orderBy("d.next_at")
      .orderBy("d.id")
      .limit(most)
      .modifyEnd(database.lock("d", "skip"))
      .execute();
    if (due.length === 0) return [];
    const ids = due.map(({ id }) => id);
    await db
      .updateTable("webhook_deliveries")
      .set(({ eb }) => ({ owner, attempt: eb("attempt", "+", 1) }))
      .where("id", "in", ids)
      .execute();
    const rows = await db
      .selectFrom("webhook_deliveries as d")
      .leftJoin("events as e", (join) =>
        join.onRef("e.operation_id", "=", "d.operation_id").onRef("e.seq", "=", "d.seq"),
      )
      .select(["d.id", "d.operation_id", "d.seq", "d.attempt", "e.type", "e.data", "e.created_at"])
      .where("d.id", "in", ids)
      .orderBy("d.id")
      .execute();
    return rows.map(({ type, data, created_at, ...row }) => ({
      ...row,
      event: type && data && created_at ? { type, data, time: created_at } : undefined,
    }));
  });
}

/** What becomes of a delivery after an attempt. `again`: it is due in `seconds`. `aborted`: the attempt does not count. */
export type Outcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "again"; readonly reason: string; readonly seconds: number }
  | { readonly kind: "aborted" };

/** Stores the outcome of an attempt, unless a later attempt has begun. A delivery stays delivered. */
export async function storeOutcome(
  database: Database,
  { id, attempt }: DueDelivery,
  outcome: Outcome,
): Promise<void> {
  const changes = {
    delivered: () => ({ delivered_at: database.time(), last_error: null }),
    failed: ({ reason }: Extract<Outcome, { kind: "failed" }>) => ({
      failed_at: database.time(),
      last_error: reason,
    }),
    again: ({ reason, seconds }: Extract<Outcome, { kind: "again" }>) => ({
      next_at: database.time(seconds),
      last_error: reason,
    }),
    aborted: () => ({ attempt: attempt - 1 }),
  };
  await database.write((db) => {
    const query = db
      .updateTable("webhook_deliveries")
      .set({ ...changes[outcome.kind](outcome as never), owner: null })
      .where("id", "=", id)
      .where("delivered_at", "is", null);
    // What was delivered is delivered, even if its lease has expired meanwhile.
    return outcome.kind === "delivered" ? query.execute() : query.where("attempt", "=", attempt).execute();
  });
}
