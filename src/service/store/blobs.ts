import type { BlobContents } from "../../contract/api/prepared-blobs.ts";
import { OPTION_URL_MEMBERS } from "../../contract/config/payload-schemas.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { JobInputs } from "../../executors/executor.ts";
import type { Database } from "../database/database.ts";
import type { OperationRow, Statements } from "../database/tables.ts";
import { ACTIVE_STATUSES } from "./operation-view.ts";

export interface StorageKey {
  readonly name: string;
  readonly space: string;
}

export function storagePathOf({ name, space }: StorageKey): string {
  return `${space === "" ? "" : `/${space}`}/data/${name}`;
}

export function storageKeyOf(stored: string): StorageKey | undefined {
  const [, space = "", name] = /^(?:\/([^/?]+))?\/data\/([^/?]+)$/.exec(stored) ?? [];
  return name === undefined ? undefined : { name, space };
}

/** The columns of an operation that say what its job reads. */
export type StoredJob = Pick<
  OperationRow,
  "feature_url" | "data_extractor_url" | "config" | "options" | "space"
>;

export function jobInputs(
  { feature_url, data_extractor_url, config, options, space }: StoredJob,
  urlOf: (stored: string) => string,
): JobInputs {
  const urls = OPTION_URL_MEMBERS.flatMap((name) => {
    const stored = options[name];
    return typeof stored === "string" ? [[name, stored] as const] : [];
  });
  const inputs = [feature_url, data_extractor_url, ...urls.map(([, stored]) => stored)];
  return {
    featureUrl: urlOf(feature_url),
    dataExtractorUrl: urlOf(data_extractor_url),
    config,
    options: { ...options, ...Object.fromEntries(urls.map(([name, stored]) => [name, urlOf(stored)])) },
    space,
    shared: inputs.filter((stored) => space !== "" && stored.startsWith("/data/")).map(urlOf),
  };
}

interface BlobRecord extends StorageKey {
  readonly caller: string;
  /** Null if unknown: for outputs whose size the storage did not tell. */
  readonly bytes: number | null;
  readonly contents?: BlobContents | undefined;
}

/** Locks the caller's usage until the transaction ends. @param state `reserved` for a new blob whose first bytes are to come. */
export async function recordBlob(
  database: Database,
  db: Statements,
  { caller, name, space, bytes, contents }: BlobRecord,
  state: "stored" | "reserved" = "stored",
): Promise<void> {
  await lockUsage(db, caller);
  const blobs = db.selectFrom("blobs").select("bytes");
  const before = await blobs.where(({ and }) => and({ caller, name })).executeTakeFirst();
  const row = {
    ...{ bytes, state, created_at: database.time() },
    contents: contents === undefined ? null : JSON.stringify(contents),
    removed_at: state === "reserved" ? database.time() : null,
  };
  await db
    .insertInto("blobs")
    .values({ caller, name, space, ...row })
    .onConflict((conflict) => conflict.columns(["caller", "name"]).doUpdateSet(row))
    .execute();
  const added = { bytes: (bytes ?? 0) - (before?.bytes ?? 0), blobs: before === undefined ? 1 : 0 };
  await addUsage(db, caller, added);
}

export interface Usage {
  readonly bytes: number;
  readonly blobs: number;
}

export type Quota = Usage;

/** No other transaction changes the caller's usage or blobs before this one ends. @returns without active operations. */
export function lockUsage(db: Statements, caller: string): Promise<Usage> {
  return db
    .insertInto("blob_usage")
    .values({ caller })
    .onConflict((conflict) => conflict.column("caller").doUpdateSet({ caller }))
    .returning(["bytes", "blobs"])
    .executeTakeFirstOrThrow();
}

export async function addUsage(db: Statements, caller: string, { bytes, blobs }: Usage): Promise<void> {
  await db
    .updateTable("blob_usage")
    .set(({ eb }) => ({ bytes: eb("bytes", "+", bytes), blobs: eb("blobs", "+", blobs) }))
    .where("caller", "=", caller)
    .execute();
}

/** What a caller has stored, with one output for each active operation. One that ends between the statements counts twice. */
export async function usageOf(db: Statements, caller: string): Promise<Usage> {
  const { active } = await db
    .selectFrom("operations")
    .select(({ fn }) => fn.countAll<number>().as("active"))
    .where("caller", "=", caller)
    .where("status", "in", ACTIVE_STATUSES)
    .executeTakeFirstOrThrow();
  const usage = db.selectFrom("blob_usage").select(["bytes", "blobs"]).where("caller", "=", caller);
  const { bytes = 0, blobs = 0 } = (await usage.executeTakeFirst()) ?? {};
  return { bytes, blobs: blobs + active };
}

export function quotaExceeded(used: Usage, quota: Quota): MucastError {
  const setting = used.blobs >= quota.blobs ? "stored_blobs_per_caller" : "stored_bytes_per_caller";
  const message =
    `this caller has ${used.blobs} blobs of ${used.bytes} bytes, including uploads in progress and expected outputs, ` +
    `and may have ${quota.blobs} of ${quota.bytes} (${setting})`;
  return new MucastError("quota_exceeded", message, { used, quota });
}
