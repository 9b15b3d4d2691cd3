import type { Queryable } from "../database/database.ts";
import type { ListQuery } from "../operations.ts";
import type { OperationRow } from "./operation-row.ts";

/** @param caller whose it must be; any caller's where it is undefined. */
export async function readOperation(
  statements: Queryable,
  id: string,
  caller?: string,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    "select * from operations where id = $1 and ($2::text is null or caller = $2)",
    [id, caller ?? null],
  );
  return rows[0];
}

/** One row more than `limit` where there are more, newest first. @param before ordinal of the last one that was given. */
export async function listOperations(
  statements: Queryable,
  caller: string,
  query: Omit<ListQuery, "cursor"> & { readonly before: string | undefined },
): Promise<OperationRow[]> {
  const { rows } = await statements.query<OperationRow>(
    `select * from operations
     where caller = $1 and ($2::text is null or status = $2) and ($3::text is null or operation = $3)
       and ($4::bigint is null or ordinal < $4)
     order by ordinal desc limit $5`,
    [caller, query.status ?? null, query.operation ?? null, query.before ?? null, query.limit + 1],
  );
  return rows;
}

/** How many operations wait to start, of every caller. */
export async function countWaiting(statements: Queryable): Promise<number> {
  const { rows } = await statements.query<{ waiting: number }>(
    "select count(*)::int as waiting from operations where status = 'NotStarted'",
  );
  return rows[0]!.waiting;
}
