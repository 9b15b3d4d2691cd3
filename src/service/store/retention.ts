import type { Queryable } from "../database/database.ts";

/** An operation that ended long ago. */
export interface Expired {
  readonly id: string;
  /** Where they are: that of its caller. */
  readonly space: string;
  /** How many attempts there were, each of which may have left a status blob. */
  readonly attempt: number;
}

/** Few, because each may have thousands of events, and on PGlite everything else waits meanwhile. */
const BATCH = 50;

/** Some of the operations that ended more than `days` ago, oldest first, but for some. */
export async function expiredOperations(
  statements: Queryable,
  days: number,
  but: readonly string[],
): Promise<Expired[]> {
  const { rows } = await statements.query<Expired>(
    `select id, attempt, space from operations where finished_at < now() - make_interval(days => $1)
       and id <> all($3::text[])
     order by finished_at limit $2`,
    [days, BATCH, but],
  );
  return rows;
}

/**
 * Removes operations with their events, deliveries and idempotency keys. Outputs stay, and stay their caller's: each
 * has a record of its own since its operation succeeded. Harmless where another service has removed them.
 */
export async function removeOperations(statements: Queryable, ids: readonly string[]): Promise<void> {
  await statements.query("delete from operations where id = any($1)", [ids]);
}
