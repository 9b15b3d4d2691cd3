import type { Database, Queryable } from "../database/database.ts";
import { appendEvents, type WebhookTypes } from "./events.ts";
import { ATTEMPT_SECONDS, type OperationRow } from "./operation-rows.ts";

/** A service that has not renewed its leases for this long loses its operations to another one. */
export const LEASE_SECONDS = 20;

/**
 * Claims a queued operation for `owner` and starts its next attempt. The operation is the oldest one of the caller with the fewest
 * running operations, so that a long queue of one caller does not delay the others.
 * @returns undefined if none is queued.
 */
export async function claimOperation(
  statements: Queryable,
  owner: string,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `update operations
     set status = 'Running', attempt = attempt + 1, owner = $1, handle = null, progress = null, summary = null,
       lease_until = now() + make_interval(secs => $2), attempt_started_at = now(),
       started_at = coalesce(started_at, now())
     where id = (
       select o.id from operations o
       left join (
         select caller, count(*) as running from operations where status = 'Running' group by caller
       ) r on r.caller = o.caller
       where o.status = 'NotStarted'
         and o.not_before <= now()
       order by coalesce(r.running, 0), o.ordinal limit 1 for update of o skip locked
     )
     returning *, ${ATTEMPT_SECONDS}`,
    [owner, LEASE_SECONDS],
  );
  return rows[0];
}

/**
 * Stores the handle of an attempt's execution, with the event `started`.
 * @returns false if the attempt is no longer the current one, or if the handle is already stored because the answer to an earlier
 * call was lost.
 */
export function recordStart(
  database: Database,
  { id, attempt }: Attempt,
  handle: string,
  webhooks: WebhookTypes,
): Promise<boolean> {
  return database.transaction(async (statements) => {
    const { rows } = await statements.query(
      `update operations set handle = $3
       where id = $1 and attempt = $2 and status = 'Running' and handle is distinct from $3 returning id`,
      [id, attempt, handle],
    );
    if (rows.length > 0)
      await appendEvents(statements, id, [{ type: "started", data: { attempt } }], webhooks);
    return rows.length > 0;
  });
}

/** One attempt at an operation. Every change of an operation names both, so that an outdated attempt changes nothing. */
export interface Attempt {
  readonly id: string;
  readonly attempt: number;
}

interface Lease extends Attempt {
  readonly cancel_requested_at: Date | null;
  /** False if another session has locked the row; the others are renewed nevertheless. */
  readonly isRenewed: boolean;
}

/**
 * Renews the leases of all operations that `owner` runs, except for locked rows.
 * @param draining records that the service drains, so that none of its current attempts counts as lost if it is killed.
 * @returns all operations that it runs.
 */
export async function renewLeases(statements: Queryable, owner: string, draining = false): Promise<Lease[]> {
  const { rows } = await statements.query<Lease>(
    `with unlocked as (
       select id from operations where owner = $1 and status = 'Running' for no key update skip locked
     ), renewed as (
       update operations o
       set lease_until = now() + make_interval(secs => $2),
         drained_attempt = case when $3 then o.attempt else o.drained_attempt end
       from unlocked where o.id = unlocked.id returning o.id
     )
     select o.id, o.attempt, o.cancel_requested_at, renewed.id is not null as "isRenewed"
     from operations o left join renewed on renewed.id = o.id
     where o.owner = $1 and o.status = 'Running'`,
    [owner, LEASE_SECONDS, draining],
  );
  return rows;
}

/**
 * Takes over one running operation that no service owns. Undefined if there is none.
 * @param alone every other service on this database is known to be gone: its operations are taken over too.
 */
export async function takeOver(
  statements: Queryable,
  owner: string,
  alone: boolean,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `update operations set owner = $1, lease_until = now() + make_interval(secs => $3)
     where id = (
       select id from operations
       where status = 'Running' and owner is distinct from $1 and (owner is null or $2)
       order by ordinal limit 1 for update skip locked
     )
     returning *, ${ATTEMPT_SECONDS}`,
    [owner, alone, LEASE_SECONDS],
  );
  return rows[0];
}

/** A lease that another service holds. */
export interface HeldLease extends Attempt {
  readonly owner: string;
  /** Changes with each renewal. Only the database's clock says whether it has passed. */
  readonly until: string;
}

export async function leasesOfOthers(statements: Queryable, owner: string): Promise<HeldLease[]> {
  const { rows } = await statements.query<HeldLease>(
    `select id, attempt, owner, lease_until::text as until from operations
     where status = 'Running' and owner is not null and owner <> $1`,
    [owner],
  );
  return rows;
}

/** @returns those of the operations whose rows another session has locked now, so that no service can renew their leases. */
export async function lockedAmong(statements: Queryable, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await statements.query<{ id: string }>(
    `with unlocked as (
       select id from operations where id = any($1::text[]) for no key update skip locked
     )
     select id from operations where id = any($1::text[]) and id not in (select id from unlocked)`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/** Releases one operation for any service to take over, unless its lease was renewed in the meantime or its row is locked. */
export async function releaseLease(
  statements: Queryable,
  { id, attempt, owner, until }: HeldLease,
): Promise<void> {
  await statements.query(
    `update operations set owner = null, lease_until = now()
     where id = (
       select id from operations
       where id = $1 and attempt = $2 and owner = $3 and lease_until::text = $4 and status = 'Running'
       for no key update skip locked
     )`,
    [id, attempt, owner, until],
  );
}

/**
 * Releases all running operations of `owner` for any service to take over at once.
 * @param locked whether to wait for rows that another session has locked, or to skip them.
 * @returns the ids of all that it has released.
 */
export async function releaseLeases(
  statements: Queryable,
  owner: string,
  locked: "wait" | "skip",
): Promise<string[]> {
  const { rows } = await statements.query<{ id: string }>(
    `update operations set owner = null, lease_until = now()
     where id in (
       select id from operations where owner = $1 and status = 'Running'
       for no key update ${locked === "skip" ? "skip locked" : ""}
     )
     returning id`,
    [owner],
  );
  return rows.map(({ id }) => id);
}
