import { outputIdIn } from "../../blob/names.ts";
import type { BlobStore, JobStore, ListedBlob } from "../../blob/store.ts";
import { isEnded } from "../../contract/api/operation-view.ts";
import type { Statements } from "../database/tables.ts";

/** An upload or an output has no record while it is being stored, so a newer blob is left alone. */
const MIN_AGE_MILLISECONDS = 3_600_000;

const BATCH = 500;

type BlobList = Pick<JobStore, "list">;

export interface Orphan extends ListedBlob {
  /** Directly in `data/` of the storage, where operators also put files of their own, which have no record either. */
  readonly isAtRoot: boolean;
  readonly oldAt: Date;
}

/** Blobs that no row names, as after the restore of an older dump. The output of an active operation, which a start may adopt, is none. */
export async function* findOrphans(db: Statements, store: BlobList): AsyncGenerator<Orphan, void> {
  for await (const batch of batchesOf(store)) yield* (await lookUp(db, batch)).orphans;
}

/** If the database names no blob, it is likely that of another storage, and every blob would count as an orphan. */
export async function namesAnyBlob(db: Statements, store: BlobList): Promise<boolean> {
  for await (const batch of batchesOf(store)) if ((await lookUp(db, batch)).isAnyRecorded) return true;
  return false;
}

/** @returns false if the database names it by now: since it was listed, its caller may have uploaded another blob of that name. */
export async function removeOrphan(
  db: Statements,
  store: Pick<BlobStore, "within">,
  orphan: Orphan,
): Promise<boolean> {
  if ((await lookUp(db, [orphan])).isAnyRecorded) return false;
  await store.within(orphan.space).remove(orphan.key);
  return true;
}

async function* batchesOf(store: BlobList): AsyncGenerator<ListedBlob[], void> {
  let batch: ListedBlob[] = [];
  for await (const blob of store.list()) {
    if (batch.push(blob) < BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

const STATUS = /^status\/([A-Za-z0-9_-]{1,64})\.[1-9]\d*\.json$/;

async function lookUp(db: Statements, blobs: readonly ListedBlob[]) {
  const found = blobs.map((blob) => {
    const name = blob.key.startsWith("data/") ? blob.key.slice("data/".length) : undefined;
    const id = name === undefined ? STATUS.exec(blob.key)?.[1] : outputIdIn(name);
    return { blob, name, id };
  });
  // First: an operation that ends between the statements has recorded its output by the second one.
  const operations = await db
    .selectFrom("operations")
    .select(["id", "space", "status"])
    .where("id", "in", ["", ...found.flatMap(({ id }) => id ?? [])])
    .execute();
  const recorded = await db
    .selectFrom("blobs")
    .select(["space", "name"])
    .where("name", "in", ["", ...found.flatMap(({ name }) => name ?? [])])
    .execute();
  const records = new Set(recorded.map(({ space, name }) => `${space}/${name}`));
  const known = new Map(operations.map(({ id, space, status }) => [`${space}/${id}`, status]));
  const isRecorded = ({ blob: { space }, name, id }: (typeof found)[number]) => {
    const status = known.get(`${space}/${id}`);
    if (name === undefined) return status !== undefined;
    return records.has(`${space}/${name}`) || (status !== undefined && !isEnded(status));
  };
  const orphans = found.flatMap((each): Orphan[] => {
    const { blob, name, id } = each;
    // No row ever names others, such as the probe of the readiness.
    if (isRecorded(each) || (name === undefined && id === undefined)) return [];
    const oldAt = new Date(blob.modifiedAt.getTime() + MIN_AGE_MILLISECONDS);
    return [{ ...blob, isAtRoot: blob.space === "" && name !== undefined, oldAt }];
  });
  return { isAnyRecorded: found.some(isRecorded), orphans };
}
