import type { Database, Queryable } from "../database/database.ts";
import { LONGEST_WAIT_SECONDS } from "./end-operation.ts";
import { appendEvents, type WebhookTypes } from "./events.ts";
import { ATTEMPT_SECONDS, type OperationRow } from "./operation-rows.ts";

/** How long a service may be silent before another one takes its operations over. */
export const LEASE_SECONDS = 20;

/**
 * Takes an operation that waits, for `owner`, as its next attempt: the oldest of a caller of whom the fewest run, so
 * that no queue of one caller keeps all others waiting. Undefined where none waits.
 */
export async function claimOperation(
  statements: Queryable,
  owner: string,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `update operations
     set status = 'Running', attempt = attempt + 1, owner = $1, handle = null, progress = null,
       lease_until = now() + make_interval(secs => $2), attempt_started_at = now(),
       started_at = coalesce(started_at, now())
     where id = (
       select o.id from operations o
       left join (
         select caller, count(*) as running from operations where status = 'Running' group by caller
       ) r on r.caller = o.caller
       where o.status = 'NotStarted'
         and (o.not_before <= now() or o.not_before > now() + make_interval(secs => $3))
       order by coalesce(r.running, 0), o.ordinal limit 1 for update of o skip locked
     )
     returning *, ${ATTEMPT_SECONDS}`,
    // One that would wait for longer than any does was written before the database's clock was put back.
    [owner, LEASE_SECONDS, LONGEST_WAIT_SECONDS],
  );
  return rows[0];
}

/**
 * Keeps where an attempt runs, and tells that it does, once.
 * @returns false where it is no longer the current one, or this has been done: its answer was lost.
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

/** One attempt at an operation; every change of it names both. */
export interface Attempt {
  readonly id: string;
  readonly attempt: number;
}

export interface Lease extends Attempt {
  readonly cancel_requested_at: Date | null;
}

/** Prolongs the leases of everything `owner` runs. @returns what that still is. */
export async function renewLeases(statements: Queryable, owner: string): Promise<Lease[]> {
  const { rows } = await statements.query<Lease>(
    `update operations set lease_until = now() + make_interval(secs => $2)
     where owner = $1 and status = 'Running' returning id, attempt, cancel_requested_at`,
    [owner, LEASE_SECONDS],
  );
  return rows;
}

/**
 * Takes over one running operation that no service has. Undefined where there is none.
 * @param alone every other service on this database is known to be gone, whatever it holds.
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
  /** Another one after each time that it was prolonged; whether it has passed says the clock of the database alone. */
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

/** Lets another service take over one operation, unless its lease was prolonged meanwhile. */
export async function releaseLease(
  statements: Queryable,
  { id, attempt, owner, until }: HeldLease,
): Promise<void> {
  await statements.query(
    `update operations set owner = null, lease_until = now()
     where id = $1 and attempt = $2 and owner = $3 and lease_until::text = $4 and status = 'Running'`,
    [id, attempt, owner, until],
  );
}

/** Lets another service take over at once what `owner` leaves running. */
export async function releaseLeases(statements: Queryable, owner: string): Promise<void> {
  await statements.query(
    "update operations set owner = null, lease_until = now() where owner = $1 and status = 'Running'",
    [owner],
  );
}
