import type { Operation } from "../../contract/operation-view.ts";
import type { Queryable } from "../database/database.ts";

/** An operation that was removed. */
export interface Removed {
  readonly id: string;
  readonly operation: Operation;
  readonly attempt: number;
  readonly caller: string;
}

/** Few, because each may have thousands of events, and on PGlite everything else waits meanwhile. */
const BATCH = 50;

/**
 * Removes some of the operations that ended more than `days` ago, with their events, deliveries and idempotency keys.
 * Outputs stay, and stay their caller's.
 */
export async function removeExpired(statements: Queryable, days: number): Promise<Removed[]> {
  const { rows } = await statements.query<Removed>(
    `with removed as (
       delete from operations where id in (
         select id from operations where finished_at < now() - make_interval(days => $1)
         order by finished_at limit $2 for update skip locked
       )
       returning id, operation, attempt, caller, status
     ), kept as (
       insert into blobs (name, caller)
       select (case operation when 'run_ml_job' then 'ml' else 'nn' end) || '_engine_' || id || '.json', caller
       from removed where status = 'Succeeded'
       on conflict (name) do nothing
     )
     select id, operation, attempt, caller from removed`,
    [days, BATCH],
  );
  return rows;
}
