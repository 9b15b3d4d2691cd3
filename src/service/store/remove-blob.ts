import { MucastError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../database/database.ts";
import { type BlobPlace, type BlobRecord, lockUsage, RECORD } from "./blob-records.ts";
import { isUploaded } from "./blob-uploads.ts";
import { storedPlace } from "./stored-place.ts";

/**
 * After so long a removal has broken off with its service. Until then it is done by one alone: of two, the later one
 * might remove what has been uploaded between them.
 */
const REMOVAL_SECONDS = 180;
const RETRY_SECONDS = 1;

/**
 * Takes a blob out of its caller's sight before it is removed from the storage. An operation that names it and is being
 * inserted at the same moment comes before, and the blob stays, or after, and is refused.
 * @throws MucastError blob_in_use while an operation that has not ended names it, or an upload of it goes on; unavailable while
 *   another removal of it goes on.
 */
export function markRemoved(database: Database, caller: string, place: BlobPlace): Promise<void> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    // Waits for submissions, which hold it while they are inserted; what they inserted is seen by the next statement.
    const { rows } = await statements.query<{ goesOn: boolean | null }>(
      `select removed_at between now() - make_interval(secs => $3) and now() as "goesOn"
       from blobs where caller = $1 and name = $2 for update`,
      [caller, place.name, REMOVAL_SECONDS],
    );
    if (rows[0]?.goesOn) throw beingRemoved(place.name);
    const operations = await namedBy(statements, caller, place);
    if (operations.length > 0) throw inUse(place.name, operations);
    if (await isUploaded(statements, caller, place.name)) throw beingUploaded(place.name);
    await statements.query("update blobs set removed_at = now() where caller = $1 and name = $2", [
      caller,
      place.name,
    ]);
  });
}

/** Lets a removal that the storage has refused be tried again at once. */
export async function leaveRemoval(statements: Queryable, caller: string, name: string): Promise<void> {
  await statements.query(
    "update blobs set removed_at = 'epoch' where caller = $1 and name = $2 and removed_at is not null",
    [caller, name],
  );
}

/** Takes on a removal that broke off, or was refused, a while ago. Undefined where there is none. */
export async function claimRemoval(statements: Queryable): Promise<BlobRecord | undefined> {
  const { rows } = await statements.query<BlobRecord>(
    `update blobs set removed_at = now()
     where (caller, name) = (
       select caller, name from blobs where removed_at < now() - make_interval(secs => $1)
       order by removed_at limit 1 for update skip locked
     )
     returning ${RECORD}`,
    [REMOVAL_SECONDS],
  );
  return rows[0];
}

const MOST_TOLD = 10;

/** Operations that have not ended and read the blob, or are to write it. */
async function namedBy(statements: Queryable, caller: string, place: BlobPlace): Promise<string[]> {
  const id = /^(?:ml|nn)_engine_(.*)\.json$/.exec(place.name)?.[1];
  const { rows } = await statements.query<{ id: string }>(
    `select id from operations
     where caller = $1 and status in ('NotStarted', 'Running')
       and (feature_url = $2 or data_extractor_url = $2 or id = $3)
     order by ordinal limit $4`,
    [caller, storedPlace(place), id ?? null, MOST_TOLD],
  );
  return rows.map((row) => row.id);
}

function inUse(name: string, operations: readonly string[]): MucastError {
  const message = `${name} is named by operations that wait or run: ${operations.join(", ")}`;
  return new MucastError("blob_in_use", message, { path: "name", operations });
}

/** The answer to what would get in the way of a removal. */
export function beingRemoved(name: string): MucastError {
  return new MucastError("unavailable", `${name} is being removed`, { retryAfter: RETRY_SECONDS });
}

function beingUploaded(name: string): MucastError {
  return new MucastError("blob_in_use", `${name} is being uploaded`, { path: "name" });
}
