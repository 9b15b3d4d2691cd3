import type { Queryable } from "../database/database.ts";

/** Who uploaded a blob, or whose operation the output is; undefined where nobody is known for it. */
export async function ownerOfBlob(statements: Queryable, name: string): Promise<string | undefined> {
  const id = /^(?:ml|nn)_engine_(.*)\.json$/.exec(name)?.[1];
  const { rows } = await statements.query<{ caller: string }>(
    `select caller from blobs where name = $1
     union all select caller from operations where id = $2`,
    [name, id ?? null],
  );
  return rows[0]?.caller;
}

/** Makes a blob the caller's where it is nobody's. @returns whose it is then. */
export async function claimBlob(statements: Queryable, name: string, caller: string): Promise<string> {
  const { rows } = await statements.query<{ caller: string }>(
    `insert into blobs (name, caller) values ($1, $2)
     on conflict (name) do update set caller = blobs.caller
     returning caller`,
    [name, caller],
  );
  return rows[0]!.caller;
}
