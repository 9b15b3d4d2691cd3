import type { Queryable } from "../database/database.ts";
import type { ListQuery } from "../operations.ts";
import { ATTEMPT_SECONDS, type OperationRow } from "./operation-row.ts";

/** @param caller whose it must be; any caller's where it is undefined. */
export async function readOperation(
  statements: Queryable,
  id: string,
  caller?: string,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `select *, ${ATTEMPT_SECONDS} from operations where id = $1 and ($2::text is null or caller = $2)`,
    [id, caller ?? null],
  );
  return rows[0];
}

/** Rows of a page, newest first. */
export interface ListedRows {
  readonly rows: readonly OperationRow[];
  /** Whether there are others behind them. */
  readonly hasMore: boolean;
}

/**
 * At most `limit` operations, and after the first only as many as take no more than `bytes` of JSON text together.
 * @param before ordinal of the last one that was given.
 */
export async function listOperations(
  statements: Queryable,
  caller: string,
  query: Omit<ListQuery, "cursor"> & { readonly before: string | undefined; readonly bytes: number },
): Promise<ListedRows> {
  // What is not told is not read: the database adds up how large the parts without a fixed size are.
  const { rows } = await statements.query<OperationRow & { readonly found: number }>(
    `select * from (
       select *, count(*) over ()::int as found,
         coalesce(sum(octet_length(warnings::text) + octet_length(failures::text) + octet_length(coalesce(error::text, '')))
           over (order by ordinal desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
       from (
         select * from operations
         where caller = $1 and ($2::text is null or status = $2) and ($3::text is null or operation = $3)
           and ($4::bigint is null or ordinal < $4)
         order by ordinal desc limit $5
       ) found
     ) listed
     where bytes_before < $6
     order by ordinal desc`,
    [
      caller,
      query.status ?? null,
      query.operation ?? null,
      query.before ?? null,
      query.limit + 1,
      query.bytes,
    ],
  );
  const page = rows.slice(0, query.limit);
  return { rows: page, hasMore: (rows[0]?.found ?? 0) > page.length };
}

/** How many operations wait to start, of every caller. */
export async function countWaiting(statements: Queryable): Promise<number> {
  const { rows } = await statements.query<{ waiting: number }>(
    "select count(*)::int as waiting from operations where status = 'NotStarted'",
  );
  return rows[0]!.waiting;
}
