import { outputIdIn } from "../../blob/names.ts";
import type { BlobStore, JobStore, ListedBlob } from "../../blob/store.ts";
import { isEnded } from "../../contract/api/operation-view.ts";
import type { Statements } from "../database/tables.ts";

/** An upload or an output has no record while it is being stored, so a newer blob is left alone. */
const MIN_AGE_MILLISECONDS = 3_600_000;

/** Listed blobs per pair of statements. */
const BATCH = 500;

export interface Orphan extends ListedBlob {
  /** Directly in `data/` of the storage, where operators also put files of their own, which have no record either. */
  readonly isAtRoot: boolean;
}

/**
 * The blobs that no row of the database names, as after the restore of a dump that is older than they are: no caller can read those in a
 * caller's space, and no quota counts them. A blob that is younger than an hour, and the output of an active operation, which the next
 * start may adopt, are no orphans.
 * @param now milliseconds since 1970.
 * @param onYoung called for each blob that would be an orphan if it were an hour old.
 * @throws MucastError blob_unavailable, unavailable.
 */
export async function* findOrphans(
  db: Statements,
  store: Pick<JobStore, "list">,
  { now = Date.now(), onYoung }: FindOptions = {},
): AsyncGenerator<Orphan> {
  for await (const batch of batchesOf(store)) {
    for (const blob of await unnamed(db, batch)) {
      if (now >= oldAt(blob).getTime()) yield blob;
      else onYoung?.(blob);
    }
  }
}

interface FindOptions {
  readonly now?: number;
  readonly onYoung?: (blob: ListedBlob) => void;
}

/** When a blob without a record becomes an orphan. */
export function oldAt({ modifiedAt }: ListedBlob): Date {
  return new Date(modifiedAt.getTime() + MIN_AGE_MILLISECONDS);
}

/**
 * Whether the database names any blob of the storage. If it names none, it is likely the database of another storage, and every blob would
 * count as an orphan.
 * @throws MucastError blob_unavailable, unavailable.
 */
export async function namesAnyBlob(db: Statements, store: Pick<JobStore, "list">): Promise<boolean> {
  for await (const batch of batchesOf(store)) {
    if ((await lookUp(db, batch)).some(({ isRecorded }) => isRecorded)) return true;
  }
  return false;
}

async function* batchesOf(store: Pick<JobStore, "list">): AsyncGenerator<ListedBlob[]> {
  let batch: ListedBlob[] = [];
  for await (const blob of store.list()) {
    if (batch.push(blob) < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Removes an orphan, unless the database names it by now: while the orphans before it were removed, its caller may have uploaded another
 * blob of that name.
 * @returns whether it removed it.
 * @throws MucastError output_failed, unavailable.
 */
export async function removeOrphan(
  db: Statements,
  store: Pick<BlobStore, "remove" | "within">,
  orphan: Orphan,
): Promise<boolean> {
  if ((await unnamed(db, [orphan])).length === 0) return false;
  await store.within(orphan.space).remove(orphan.key);
  return true;
}

async function unnamed(db: Statements, blobs: readonly ListedBlob[]): Promise<Orphan[]> {
  const found = await lookUp(db, blobs);
  return found.flatMap(({ blob, isRecorded, mayBeOrphan }) => {
    const isAtRoot = blob.space === "" && blob.key.startsWith("data/");
    return isRecorded || !mayBeOrphan ? [] : [{ ...blob, isAtRoot }];
  });
}

interface LookedUp {
  readonly blob: ListedBlob;
  /** Whether a row of the database names it. */
  readonly isRecorded: boolean;
  /** False for what no row ever names, such as the probe of the readiness. */
  readonly mayBeOrphan: boolean;
}

async function lookUp(db: Statements, blobs: readonly ListedBlob[]): Promise<LookedUp[]> {
  // First: an operation that ends between the statements has recorded its output by the second one.
  const operations = await db
    .selectFrom("operations")
    .select(["id", "space", "status"])
    .where("id", "in", ["", ...blobs.flatMap(({ key }) => idIn(key) ?? [])])
    .execute();
  const names = blobs.flatMap(({ key }) => (key.startsWith("data/") ? [nameIn(key)] : []));
  const recorded = await db
    .selectFrom("blobs")
    .select(["space", "name"])
    .where("name", "in", ["", ...names])
    .execute();
  const records = new Set(recorded.map(({ space, name }) => `${space}/data/${name}`));
  const outputs = new Set(
    operations.flatMap(({ id, space, status }) => (isEnded(status) ? [] : [`${space}/${id}`])),
  );
  const known = new Set(operations.map(({ id, space }) => `${space}/${id}`));
  return blobs.map((blob) => {
    const id = idIn(blob.key);
    const operation = `${blob.space}/${id}`;
    if (!blob.key.startsWith("data/"))
      return { blob, isRecorded: known.has(operation), mayBeOrphan: id !== undefined };
    const isRecorded = records.has(`${blob.space}/${blob.key}`) || outputs.has(operation);
    return { blob, isRecorded, mayBeOrphan: true };
  });
}

function nameIn(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

const STATUS = /^status\/([A-Za-z0-9_-]{1,64})\.[1-9]\d*\.json$/;

/** The id of the operation whose output or status a key names; undefined for any other, such as the probe of the readiness. */
function idIn(key: string): string | undefined {
  return key.startsWith("data/") ? outputIdIn(nameIn(key)) : STATUS.exec(key)?.[1];
}
