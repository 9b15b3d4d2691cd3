import { outputIdIn } from "../../blob/names.ts";
import { OPTION_URL_MEMBERS } from "../../contract/config/payload-schemas.ts";
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
import { ACTIVE_STATUSES } from "./operation-rows.ts";

/**
 * A removal that takes longer counts as interrupted. Until then, only one request does it: a second one might remove a blob that was
 * uploaded after the first had finished.
 */
const REMOVAL_SECONDS = 180;

/**
 * The result of markRemoved: `marked`, callers no longer find the blob and it may be removed from the storage; `goes on`, another
 * removal of it is in progress; `gone`, another removal has finished, or there is no record.
 */
export type MarkOutcome = "marked" | "goes on" | "gone";

/** The state of the blob when its removal was requested. */
export interface RemovalTarget {
  /** The caller saw a record of it; false: a blob without a record. */
  readonly recorded: boolean;
  /** Only a blob whose removal failed or was interrupted, not one that was uploaded since. */
  readonly left: boolean;
  /** Only a record of this version. */
  readonly version?: string | undefined;
}

/**
 * Hides a blob from its caller before it is removed from the storage. If a submission that names the blob runs concurrently, either
 * it comes first and the blob stays, or it comes later and is refused.
 * @throws MucastError blob_in_use while an active operation names it, or an upload of it is in progress.
 */
export function markRemoved(
  database: Database,
  caller: string,
  blob: StorageKey,
  { recorded, left, version }: RemovalTarget,
): Promise<MarkOutcome> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    // Waits for submissions, which lock the record while they are inserted; the next statement sees their rows.
    const { state, version: current } = await stateOf(statements, caller, blob.name, "for update");
    if (state === "goes on") return state;
    if ((recorded && state === "none") || (left && state !== "left")) return "gone";
    if (version !== undefined && version !== current) return "gone";
    const operations = await namedBy(statements, caller, blob);
    if (operations.length > 0) throw inUse(blob.name, operations);
    if (await isUploaded(statements, caller, blob.name)) throw beingUploaded(blob.name);
    await statements.query(
      "update blobs set removed_at = clock_timestamp() where caller = $1 and name = $2",
      [caller, blob.name],
    );
    return "marked";
  });
}

/** `goes on`: in progress. `left`: failed or interrupted. `stored`: no removal. `none`: no record. */
type RemovalState = "goes on" | "left" | "stored" | "none";

/** Reads the state of the removal of a blob. */
export async function removalState(
  statements: Queryable,
  { caller, name }: RecordKey,
): Promise<RemovalState> {
  return (await stateOf(statements, caller, name, "")).state;
}

async function stateOf(
  statements: Queryable,
  caller: string,
  name: string,
  lock: "for update" | "",
): Promise<{ readonly state: RemovalState; readonly version?: string }> {
  const { rows } = await statements.query<{ state: RemovalState; version: string }>(
    `select xmin::text as version, case when removed_at is null then 'stored'
       when removed_at between clock_timestamp() - make_interval(secs => $3) and clock_timestamp() then 'goes on' else 'left' end as state
     from blobs where caller = $1 and name = $2 ${lock}`,
    [caller, name, REMOVAL_SECONDS],
  );
  return rows[0] ?? { state: "none" };
}

/** Marks a removal that the storage refused, so that the next request may retry it at once. */
export async function markRemovalBroken(statements: Queryable, { caller, name }: RecordKey): Promise<void> {
  await statements.query(
    "update blobs set removed_at = 'epoch' where caller = $1 and name = $2 and removed_at is not null",
    [caller, name],
  );
}

/**
 * Claims the next failed or interrupted removal, in the order of caller and name. If one began in the future, the database's clock
 * was set back since: it counts as begun now.
 * @param alone no other service uses the database: every removal that is not in `ongoing` was interrupted, however recent.
 * @param ongoing removals in progress in this service. @param after the previous record; undefined for the first.
 * @returns undefined if there is none.
 */
export async function claimRemoval(
  statements: Queryable,
  alone: boolean,
  ongoing: readonly RecordKey[],
  after: RecordKey | undefined,
): Promise<BlobRecord | undefined> {
  const { rows } = await statements.query<BlobRecord>(
    `with begun_anew as (
       update blobs set removed_at = clock_timestamp() where removed_at > now() and not $1
     )
     update blobs set removed_at = clock_timestamp()
     where (caller, name) = (
       select caller, name from blobs
       where removed_at is not null
         and ($1 or removed_at < now() - make_interval(secs => $2))
         and (caller, name) > ($3, $4) and (caller, name) not in (select * from unnest($5::text[], $6::text[]))
       order by caller, name limit 1 for update skip locked
     )
     returning ${RECORD}`,
    [
      ...[alone, REMOVAL_SECONDS, after?.caller ?? "", after?.name ?? ""],
      ...[ongoing.map(({ caller }) => caller), ongoing.map(({ name }) => name)],
    ],
  );
  return rows[0];
}

const MAX_OPERATIONS_LISTED = 10;

/** The members of options that name a blob, as a list of SQL. */
const OPTION_URLS = OPTION_URL_MEMBERS.map((name) => `options ->> '${name}'`).join(", ");

/** Ids of active operations that read the blob or will write it. */
async function namedBy(statements: Queryable, caller: string, blob: StorageKey): Promise<string[]> {
  const { rows } = await statements.query<{ id: string }>(
    `select id from operations
     where caller = $1 and status in ${ACTIVE_STATUSES}
       and (feature_url = $2 or data_extractor_url = $2 or id = $3 or $2 in (${OPTION_URLS}))
     order by ordinal limit $4`,
    [caller, storagePathOf(blob), outputIdIn(blob.name) ?? null, MAX_OPERATIONS_LISTED],
  );
  return rows.map((row) => row.id);
}

function inUse(name: string, operations: readonly string[]): MucastError {
  const message = `${name} is named by operations that wait or run: ${operations.join(", ")}`;
  return new MucastError("blob_in_use", message, { path: "name", operations });
}

/** The error of a removal during an upload. */
export function beingUploaded(name: string): MucastError {
  return new MucastError("blob_in_use", `${name} is being uploaded`, { path: "name" });
}
