import type { Queryable } from "../database/database.ts";

/** An operation that ended long ago. */
export interface Expired {
  readonly id: string;
  /** How many attempts there were, each of which may have left a status blob. */
  readonly attempt: number;
}

/** Few, because each may have thousands of events, and on PGlite everything else waits meanwhile. */
const BATCH = 50;

/** Some of the operations that ended more than `days` ago, oldest first. */
export async function expiredOperations(statements: Queryable, days: number): Promise<Expired[]> {
  const { rows } = await statements.query<Expired>(
    `select id, attempt from operations where finished_at < now() - make_interval(days => $1)
     order by finished_at limit $2`,
    [days, BATCH],
  );
  return rows;
}

/**
 * Removes operations with their events, deliveries and idempotency keys. Outputs stay, and stay their caller's.
 * Harmless where another service has removed them.
 */
export async function removeOperations(statements: Queryable, ids: readonly string[]): Promise<void> {
  await statements.query(
    `with removed as (
       delete from operations where id = any($1) returning id, operation, caller, status
     )
     insert into blobs (name, caller)
     select (case operation when 'run_ml_job' then 'ml' else 'nn' end) || '_engine_' || id || '.json', caller
     from removed where status = 'Succeeded'
     on conflict (name) do nothing`,
    [ids],
  );
}
