import { MucastError } from "../../contract/errors/errors.ts";
import type { Database, Queryable } from "../database/database.ts";
import {
  type BlobRecord,
  lockUsage,
  recordBlob,
  recordOf,
  renewRecord,
  type StorageKey,
  type Usage,
} from "./blob-records.ts";
import { ACTIVE_STATUSES } from "./operation-rows.ts";

/** An upload whose lease was not renewed for this long counts as interrupted. */
export const UPLOAD_LEASE_SECONDS = 60;

/** The quota of a caller. Uploads in progress and outputs of active operations count too. */
export interface Quota {
  readonly bytes: number;
  readonly blobs: number;
}

/** An upload in progress. Its reserved bytes count as stored from the start. */
export interface UploadRow extends StorageKey {
  readonly id: string;
  readonly caller: string;
  readonly bytes: number;
}

type Reserved =
  | { readonly kind: "reserved"; readonly space: string }
  /** `used`: the caller's usage without this upload. */
  | { readonly kind: "full"; readonly used: Usage }
  /** The key holds a blob of another caller. */
  | { readonly kind: "taken" }
  /** The blob is being removed. */
  | { readonly kind: "removing" };

/**
 * Reserves bytes for an upload, in one transaction under the lock of the caller's usage. So concurrent uploads never exceed the quota
 * together, even on several services.
 * @param upload `space`: where a new blob goes; a recorded blob keeps its space.
 */
export function reserveUpload(database: Database, upload: UploadRow, quota: Quota): Promise<Reserved> {
  return database.transaction(async (statements) => {
    const { caller, name } = upload;
    const stored = await lockUsage(statements, caller);
    const record = await recordOf(statements, caller, name);
    if (record?.isRemoved) return { kind: "removing" };
    const space = record?.space ?? upload.space;
    if (record === undefined && (await isTaken(statements, { name, space }, caller)))
      return { kind: "taken" };
    const used = await withPending(statements, caller, stored);
    const isNew = record === undefined && !(await isUploaded(statements, caller, name));
    const isFull = used.bytes + upload.bytes > quota.bytes || used.blobs + (isNew ? 1 : 0) > quota.blobs;
    // An upload that reserves nothing for a recorded blob adds nothing, even if the caller exceeds the quota.
    if (isFull && (upload.bytes > 0 || isNew)) return { kind: "full", used };
    await statements.query(
      `insert into blob_uploads (id, caller, name, space, bytes, lease_until)
       values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
      [upload.id, caller, name, space, upload.bytes, UPLOAD_LEASE_SECONDS],
    );
    return { kind: "reserved", space };
  });
}

/**
 * Reserves more bytes for an upload: `wished`, or what is left of the quota if that covers `needed`.
 * @returns the bytes reserved now; `used`, the usage without this upload, if the quota has too few; `gone` if the reservation was
 * settled in the meantime.
 */
export function growUpload(
  database: Database,
  { id, caller }: Pick<UploadRow, "id" | "caller">,
  { needed, wished }: { readonly needed: number; readonly wished: number },
  quota: Quota,
): Promise<{ readonly bytes: number } | { readonly used: Usage } | "gone"> {
  return database.transaction(async (statements) => {
    const used = await withPending(statements, caller, await lockUsage(statements, caller), id);
    if (used.bytes + needed > quota.bytes) return { used };
    const bytes = Math.min(wished, quota.bytes - used.bytes);
    const { rows } = await statements.query("update blob_uploads set bytes = $2 where id = $1 returning id", [
      id,
      bytes,
    ]);
    return rows.length === 0 ? "gone" : { bytes };
  });
}

/**
 * Checks whether one more output fits a caller's quota, and locks the usage until the transaction ends, so that concurrent
 * submissions count each other.
 * @returns the usage without it if it does not fit.
 */
export async function overQuota(
  statements: Queryable,
  caller: string,
  quota: Quota,
): Promise<Usage | undefined> {
  const used = await withPending(statements, caller, await lockUsage(statements, caller));
  return used.bytes >= quota.bytes || used.blobs >= quota.blobs ? used : undefined;
}

/** Adds the uploads in progress, except the upload `but`, and one output for each active operation. */
async function withPending(
  statements: Queryable,
  caller: string,
  { bytes, blobs }: Usage,
  but = "",
): Promise<Usage> {
  const { rows } = await statements.query<Usage>(
    `select coalesce(sum(u.bytes), 0)::float8 as bytes,
       (count(distinct u.name) filter (where b.name is null) + (
         select count(*) from operations o where o.caller = $1 and o.status in ${ACTIVE_STATUSES}
       ))::float8 as blobs
     from blob_uploads u left join blobs b on b.caller = u.caller and b.name = u.name
     where u.caller = $1 and u.id <> $2`,
    [caller, but],
  );
  return { bytes: bytes + rows[0]!.bytes, blobs: blobs + rows[0]!.blobs };
}

async function isTaken(statements: Queryable, blob: StorageKey, caller: string): Promise<boolean> {
  const { rows } = await statements.query(
    "select 1 from blobs where space = $1 and name = $2 and caller <> $3",
    [blob.space, blob.name, caller],
  );
  return rows.length > 0;
}

/** Whether an upload of a name is in progress. */
export async function isUploaded(statements: Queryable, caller: string, name: string): Promise<boolean> {
  const { rows } = await statements.query(
    "select 1 from blob_uploads where caller = $1 and name = $2 limit 1",
    [caller, name],
  );
  return rows.length > 0;
}

/**
 * Records the blob of a complete upload and removes its reservation. @param blob with its size in the storage.
 * @returns the version of a new record; undefined if there already was one.
 */
export function finishUpload(database: Database, id: string, blob: BlobRecord): Promise<string | undefined> {
  return database.transaction(async (statements) => {
    const version = await recordBlob(statements, blob);
    await releaseUpload(statements, id);
    return version;
  });
}

/** Finishes an upload of an existing blob: gives its record another version, and removes the reservation. */
export function finishUnchanged(
  database: Database,
  { id, caller, name }: Pick<UploadRow, "id" | "caller" | "name">,
): Promise<void> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    await renewRecord(statements, { caller, name });
    await releaseUpload(statements, id);
  });
}

/** Removes the reservation of an upload. @returns false if there is none. */
export async function releaseUpload(statements: Queryable, id: string): Promise<boolean> {
  const { rows } = await statements.query("delete from blob_uploads where id = $1 returning id", [id]);
  return rows.length > 0;
}

/** Renews the leases of uploads in progress. */
export async function renewUploads(statements: Queryable, ids: readonly string[]): Promise<void> {
  await statements.query(
    "update blob_uploads set lease_until = now() + make_interval(secs => $2) where id = any($1)",
    [ids, UPLOAD_LEASE_SECONDS],
  );
}

const BATCH = 100;

/**
 * The next interrupted uploads, in the order of their ids. If a lease is longer than a new one, the database's clock was set back
 * since: it becomes a new one, which lapses unless the upload's service renews it.
 * @param alone no other service uses the database: every upload that is not in `ongoing` is interrupted, whatever its lease.
 * @param ongoing ids of the uploads of this service. @param after undefined for the first batch.
 */
export async function brokenUploads(
  statements: Queryable,
  alone: boolean,
  ongoing: readonly string[],
  after: UploadRow | undefined,
): Promise<UploadRow[]> {
  const { rows } = await statements.query<UploadRow>(
    `with shortened as (
       update blob_uploads set lease_until = now() + make_interval(secs => $5)
       where lease_until > now() + make_interval(secs => $5)
     )
     select id, caller, name, space, bytes::float8 as bytes from blob_uploads
     where ($1 or lease_until < now()) and id <> all($2::text[]) and id > $3 order by id limit $4`,
    [alone, ongoing, after?.id ?? "", BATCH, UPLOAD_LEASE_SECONDS],
  );
  return rows;
}

/**
 * Settles an interrupted upload according to the storage. Changes nothing if another service has settled it: the blob may have been
 * removed since. @param bytes of the blob at its key; undefined if there is none.
 */
export function settleUpload(
  database: Database,
  { id, caller, name, space }: UploadRow,
  bytes: number | undefined,
): Promise<void> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    if (!(await releaseUpload(statements, id))) return;
    const record = await recordOf(statements, caller, name);
    const mine = !record?.isRemoved && (bytes !== undefined || record !== undefined);
    if (mine) await recordBlob(statements, { caller, name, space, bytes: bytes ?? 0 });
  });
}

/** The error for a caller whose quota has no space for another blob. @param used the usage without it. */
export function quotaExceeded(used: Usage, quota: Quota): MucastError {
  const setting = used.blobs >= quota.blobs ? "stored_blobs_per_caller" : "stored_bytes_per_caller";
  const message =
    `this caller has ${used.blobs} blobs of ${used.bytes} bytes, including running uploads and expected outputs, ` +
    `and may have ${quota.blobs} of ${quota.bytes} (${setting})`;
  return new MucastError("quota_exceeded", message, { used, quota });
}
