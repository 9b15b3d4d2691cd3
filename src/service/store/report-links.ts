import type { Database, Queryable } from "../database/database.ts";

/** The caller and the operations of a link. */
export interface LinkedReport {
  readonly caller: string;
  /** At least one; all different. */
  readonly operationIds: readonly string[];
}

export interface NewLink extends LinkedReport {
  /** SHA-256 of its token, hexadecimal. */
  readonly hash: string;
  /** How long it may be used. */
  readonly seconds: number;
}

/** Maximum number of links per caller; a further link replaces the oldest. */
const LINKS_OF_A_CALLER = 100;

/**
 * Stores a link, and removes expired ones.
 * @returns the time until which it may be used; undefined if an operation has been removed in the meantime.
 */
export function insertLink(
  database: Database,
  { hash, caller, operationIds, seconds }: NewLink,
): Promise<Date | undefined> {
  return database.transaction(async (statements) => {
    await statements.query("delete from report_links where expires_at < now()");
    const { rows } = await statements.query<{ expires_at: Date }>(
      `insert into report_links (hash, caller, operation_id, further_ids, expires_at)
       select $1, $2, ($3::text[])[1], ($3::text[])[2:], now() + make_interval(secs => $4)
       where ${ALL_THERE}
       returning expires_at`,
      [hash, caller, operationIds, seconds],
    );
    await statements.query(
      `delete from report_links where hash in (
         select hash from report_links where caller = $1 order by ordinal desc offset $2
       )`,
      [caller, LINKS_OF_A_CALLER],
    );
    return rows[0]?.expires_at;
  });
}

/** Whether the caller $2 has all operations $3. */
const ALL_THERE =
  "(select count(*) from operations where id = any($3::text[]) and caller = $2) = cardinality($3::text[])";

const OPEN = "hash = $1 and expires_at > now()";
const LINKED = 'caller, operation_id || further_ids as "operationIds"';
const TAKEN = `${LINKED}, expires_at as "expiresAt"`;

/** Looks at a link that has not expired, without using it. */
export async function findLink(statements: Queryable, hash: string): Promise<LinkedReport | undefined> {
  const found = await statements.query<LinkedReport>(`select ${LINKED} from report_links where ${OPEN}`, [
    hash,
  ]);
  return found.rows[0];
}

/** A link that was used. */
export interface RedeemedLink extends LinkedReport {
  readonly expiresAt: Date;
}

/** Uses a link: if several requests take it at once, even on several services, only one gets it. */
export async function redeemLink(statements: Queryable, hash: string): Promise<RedeemedLink | undefined> {
  const taken = await statements.query<RedeemedLink>(
    `delete from report_links where ${OPEN} returning ${TAKEN}`,
    [hash],
  );
  return taken.rows[0];
}

/** Makes a used link valid again until it would have expired, unless an operation was removed. */
export async function restoreLink(
  statements: Queryable,
  hash: string,
  { caller, operationIds, expiresAt }: RedeemedLink,
): Promise<void> {
  await statements.query(
    `insert into report_links (hash, caller, operation_id, further_ids, expires_at)
     select $1, $2, ($3::text[])[1], ($3::text[])[2:], $4 where ${ALL_THERE}`,
    [hash, caller, operationIds, expiresAt],
  );
}
