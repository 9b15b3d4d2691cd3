import { MucastError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../database/database.ts";
import { type BlobPlace, lockUsage } from "./blob-records.ts";
import { isUploaded } from "./blob-uploads.ts";
import { storedPlace } from "./stored-place.ts";

/**
 * Takes a blob out of its caller's sight before it is removed from the storage. An operation that names it and is being
 * inserted at the same moment comes before, and the blob stays, or after, and is refused.
 * @throws MucastError blob_in_use while an operation that has not ended names it, or an upload of it goes on.
 */
export function markRemoved(database: Database, caller: string, place: BlobPlace): Promise<void> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    // Waits for submissions, which hold it while they are inserted; what they inserted is seen by the next statement.
    await statements.query("select 1 from blobs where caller = $1 and name = $2 for update", [
      caller,
      place.name,
    ]);
    const operations = await namedBy(statements, caller, place);
    if (operations.length > 0) throw inUse(place.name, operations);
    if (await isUploaded(statements, caller, place.name)) throw beingUploaded(place.name);
    await statements.query(
      "update blobs set removed_at = coalesce(removed_at, now()) where caller = $1 and name = $2",
      [caller, place.name],
    );
  });
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

function beingUploaded(name: string): MucastError {
  return new MucastError("blob_in_use", `${name} is being uploaded`, { path: "name" });
}
