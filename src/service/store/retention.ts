import type { Queryable } from "../database/database.ts";

/** An operation that ended long ago. */
export interface Expired {
  readonly id: string;
  /** Where they are: that of its caller. */
  readonly space: string;
  /** How many attempts there were, each of which may have left a status blob. */
  readonly attempt: number;
  /** In UTC, to the microsecond. */
  readonly finishedAt: string;
}

const BATCH = 50;

/** The next operations that ended more than `days` ago, oldest first. @param after undefined for the first. */
export async function expiredOperations(
  statements: Queryable,
  days: number,
  after: Expired | undefined,
): Promise<Expired[]> {
  const { rows } = await statements.query<Expired>(
    `select id, attempt, space,
       to_char(finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "finishedAt"
     from operations
     where finished_at < now() - make_interval(days => $1) and (finished_at, id) > ($2::timestamptz, $3)
     order by finished_at, id limit $4`,
    [days, after?.finishedAt ?? "-infinity", after?.id ?? "", BATCH],
  );
  return rows;
}

/**
 * Removes an operation with its events, deliveries and idempotency key. Its output stays, and stays its caller's: it
 * has a record of its own since the operation succeeded. Harmless where another service has removed it.
 */
export async function removeOperation(statements: Queryable, id: string): Promise<void> {
  await statements.query("delete from operations where id = $1", [id]);
}
