import type { Database, Queryable } from "../database/database.ts";

/** Whose report of which operation a link opens. */
export interface LinkedReport {
  readonly caller: string;
  readonly operationId: string;
}

export interface NewLink extends LinkedReport {
  /** SHA-256 of its token, hexadecimal. */
  readonly hash: string;
  /** How long it may be used. */
  readonly seconds: number;
}

/** Of one caller; a further link replaces the oldest. */
const LINKS_OF_A_CALLER = 100;

/**
 * Stores a link, and removes those that have ended.
 * @returns until when it may be used; undefined where the operation has been removed meanwhile.
 */
export function insertLink(
  database: Database,
  { hash, caller, operationId, seconds }: NewLink,
): Promise<Date | undefined> {
  return database.transaction(async (statements) => {
    await statements.query("delete from report_links where expires_at < now()");
    const { rows } = await statements.query<{ expires_at: Date }>(
      `insert into report_links (hash, caller, operation_id, expires_at)
       select $1, $2, id, now() + make_interval(secs => $4) from operations where id = $3 and caller = $2
       returning expires_at`,
      [hash, caller, operationId, seconds],
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

/** A link that has not ended. The database's clock may have been set back: no link lasts longer than a new one. */
const OPEN = "hash = $1 and expires_at > now() and expires_at <= now() + make_interval(secs => $2)";
const LINKED = 'caller, operation_id as "operationId"';

/** Looks at a link, and leaves it. @param seconds that a new one lasts. */
export async function findLink(
  statements: Queryable,
  hash: string,
  seconds: number,
): Promise<LinkedReport | undefined> {
  const found = await statements.query<LinkedReport>(`select ${LINKED} from report_links where ${OPEN}`, [
    hash,
    seconds,
  ]);
  return found.rows[0];
}

/** Uses a link up: of several at the same time, also on several services, one gets it. */
export async function takeLink(
  statements: Queryable,
  hash: string,
  seconds: number,
): Promise<LinkedReport | undefined> {
  const taken = await statements.query<LinkedReport>(
    `delete from report_links where ${OPEN} returning ${LINKED}`,
    [hash, seconds],
  );
  return taken.rows[0];
}
