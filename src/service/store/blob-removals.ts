import { MucastError } from "../../contract/errors/errors.ts";
import type { Database, Queryable } from "../database/database.ts";
import {
  type BlobRecord,
  lockUsage,
  RECORD,
  type RecordKey,
  type StorageKey,
  storagePathOf,
} from "./blob-records.ts";
import { isUploaded } from "./blob-uploads.ts";

/**
 * After so long a removal has broken off with its service. Until then it is done by one alone: of two, the later one
 * might remove what has been uploaded between them.
 */
const REMOVAL_SECONDS = 180;

/**
 * What became of the wish to remove a blob: `marked`, it is out of its caller's sight and may be removed from the storage;
 * `goes on`, another removal of it does; `gone`, that one is over, or the record was gone before.
 */
export type MarkOutcome = "marked" | "goes on" | "gone";

/** Which blob a removal means. */
export interface RemovalTarget {
  /** With a record that was seen, and not what lies there without one. */
  readonly recorded: boolean;
  /** One whose removal was refused or broke off, and not what has been uploaded since. */
  readonly left: boolean;
}

/**
 * Takes a blob out of its caller's sight before it is removed from the storage. An operation that names it and is being
 * inserted at the same moment comes before, and the blob stays, or after, and is refused.
 * @throws MucastError blob_in_use while an operation that has not ended names it, or an upload of it goes on.
 */
export function markRemoved(
  database: Database,
  caller: string,
  place: StorageKey,
  { recorded, left }: RemovalTarget,
): Promise<MarkOutcome> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    // Waits for submissions, which hold it while they are inserted; what they inserted is seen by the next statement.
    const state = await stateOf(statements, caller, place.name, "for update");
    if (state === "goes on") return state;
    if ((recorded && state === "none") || (left && state !== "left")) return "gone";
    const operations = await namedBy(statements, caller, place);
    if (operations.length > 0) throw inUse(place.name, operations);
    if (await isUploaded(statements, caller, place.name)) throw beingUploaded(place.name);
    await statements.query(
      "update blobs set removed_at = clock_timestamp() where caller = $1 and name = $2",
      [caller, place.name],
    );
    return "marked";
  });
}

/** Of a removal: it goes on; it was refused or broke off; there is none, but a blob; there is no record. */
export type RemovalState = "goes on" | "left" | "stored" | "none";

/** How far the removal of a blob is. */
export function removalState(statements: Queryable, { caller, name }: RecordKey): Promise<RemovalState> {
  return stateOf(statements, caller, name, "");
}

async function stateOf(
  statements: Queryable,
  caller: string,
  name: string,
  lock: "for update" | "",
): Promise<RemovalState> {
  const { rows } = await statements.query<{ state: RemovalState }>(
    `select case when removed_at is null then 'stored'
       when removed_at between clock_timestamp() - make_interval(secs => $3) and clock_timestamp() then 'goes on' else 'left' end as state
     from blobs where caller = $1 and name = $2 ${lock}`,
    [caller, name, REMOVAL_SECONDS],
  );
  return rows[0]?.state ?? "none";
}

/** Lets a removal that the storage has refused be tried again at once. */
export async function markRemovalBroken(statements: Queryable, { caller, name }: RecordKey): Promise<void> {
  await statements.query(
    "update blobs set removed_at = 'epoch' where caller = $1 and name = $2 and removed_at is not null",
    [caller, name],
  );
}

/**
 * Takes on the next removal, in the order of caller and name, that was refused or broke off.
 * @param alone no other service is there: one that goes on nowhere here has broken off, however short a time ago.
 * @param ours removals that go on here. @param after the blob before it; undefined for the first.
 * @returns undefined where there is none.
 */
export async function claimRemoval(
  statements: Queryable,
  alone: boolean,
  ours: readonly RecordKey[],
  after: RecordKey | undefined,
): Promise<BlobRecord | undefined> {
  const { rows } = await statements.query<BlobRecord>(
    `update blobs set removed_at = clock_timestamp()
     where (caller, name) = (
       select caller, name from blobs
       where removed_at is not null and ($1 or removed_at < now() - make_interval(secs => $2))
         and (caller, name) > ($3, $4) and (caller, name) not in (select * from unnest($5::text[], $6::text[]))
       order by caller, name limit 1 for update skip locked
     )
     returning ${RECORD}`,
    [
      ...[alone, REMOVAL_SECONDS, after?.caller ?? "", after?.name ?? ""],
      ...[ours.map(({ caller }) => caller), ours.map(({ name }) => name)],
    ],
  );
  return rows[0];
}

const MOST_TOLD = 10;

/** Operations that have not ended and read the blob, or are to write it. */
async function namedBy(statements: Queryable, caller: string, place: StorageKey): Promise<string[]> {
  const id = /^(?:ml|nn)_engine_(.*)\.json$/.exec(place.name)?.[1];
  const { rows } = await statements.query<{ id: string }>(
    `select id from operations
     where caller = $1 and status in ('NotStarted', 'Running')
       and (feature_url = $2 or data_extractor_url = $2 or id = $3)
     order by ordinal limit $4`,
    [caller, storagePathOf(place), id ?? null, MOST_TOLD],
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
