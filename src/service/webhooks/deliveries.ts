import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { Queryable } from "../database/database.ts";

/** A delivery that this service has claimed for one attempt. */
export interface DueDelivery {
  /** Opaque: its type differs between the databases. */
  readonly id: unknown;
  readonly operation_id: string;
  readonly seq: number;
  /** Number of started attempts, including this one. */
  readonly attempts: number;
  /** Undefined if retention has removed it. */
  readonly event: { readonly type: StoredEventType; readonly data: object; readonly time: Date } | undefined;
}

interface ClaimedRow extends Omit<DueDelivery, "event"> {
  readonly type: StoredEventType | null;
  readonly data: object | null;
  readonly created_at: Date | null;
}

interface Claim {
  readonly target: string;
  readonly most: number;
  readonly leaseSeconds: number;
}

/**
 * Claims due deliveries of a target, the longest due first. No other service claims them for `leaseSeconds`; after that they are due
 * again, unless their outcome was stored.
 */
export async function claimDeliveries(
  statements: Queryable,
  { target, most, leaseSeconds }: Claim,
): Promise<DueDelivery[]> {
  const { rows } = await statements.query<ClaimedRow>(
    `with claimed as (
       update webhook_deliveries
       set attempts = attempts + 1, next_at = now() + make_interval(secs => $3)
       where id in (
         select id from webhook_deliveries
         where target = $1 and delivered_at is null and failed_at is null and next_at <= now()
         order by next_at, id limit $2 for update skip locked
       )
       returning id, operation_id, seq, attempts
     )
     select claimed.*, events.type, events.data, events.created_at
     from claimed left join events on events.operation_id = claimed.operation_id and events.seq = claimed.seq
     order by claimed.id`,
    [target, most, leaseSeconds],
  );
  return rows.map(({ type, data, created_at, ...row }) => ({
    ...row,
    event: type && data && created_at ? { type, data, time: created_at } : undefined,
  }));
}

export async function markDelivered(statements: Queryable, { id }: DueDelivery): Promise<void> {
  await statements.query(
    "update webhook_deliveries set delivered_at = now(), last_error = null where id = $1 and delivered_at is null",
    [id],
  );
}

/** Makes it due again after `seconds`. */
export async function markForLater(
  statements: Queryable,
  { id, attempts }: DueDelivery,
  seconds: number,
  reason: string,
): Promise<void> {
  await statements.query(
    `update webhook_deliveries set next_at = now() + make_interval(secs => $3), last_error = $4
     where id = $1 and attempts = $2 and delivered_at is null`,
    [id, attempts, seconds, reason],
  );
}

/** Makes it never due again. */
export async function markFailed(
  statements: Queryable,
  { id, attempts }: DueDelivery,
  reason: string,
): Promise<void> {
  await statements.query(
    `update webhook_deliveries set failed_at = now(), last_error = $3
     where id = $1 and attempts = $2 and delivered_at is null`,
    [id, attempts, reason],
  );
}

/** Reverts the attempt and makes the delivery due at once. */
export async function releaseDelivery(statements: Queryable, { id, attempts }: DueDelivery): Promise<void> {
  await statements.query(
    `update webhook_deliveries set next_at = now(), attempts = attempts - 1
     where id = $1 and attempts = $2 and delivered_at is null`,
    [id, attempts],
  );
}
