import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { readWholeJson, type WholeJson } from "../contract/json/whole-json.ts";
import { type StatusBlob, statusBlobSchema, statusKey } from "../contract/output/status-blob.ts";
import { SIZES } from "../contract/schema/answer-limits.ts";
import { openSchema } from "../contract/schema/open-schema.ts";

/** Larger than this version writes, because a job of another version may have written the blob. */
const MAX_BYTES = 8 * SIZES.statusBlob;
/** Open, because a job of a later version may have written the blob. */
const READ = openSchema(statusBlobSchema);

/**
 * The status blob of an attempt; undefined if there is none.
 * @throws MucastError blob_unavailable; invalid_data if the blob is not a status of that attempt.
 */
export async function readStatus(
  store: BlobStore,
  id: string,
  attempt: number,
): Promise<StatusBlob | undefined> {
  const key = statusKey(id, attempt);
  const read = await readBlob(store, key);
  if (read === undefined) return undefined;
  if ("isTooLarge" in read) {
    throw new MucastError("invalid_data", `${key} is larger than any status`, { source: key });
  }
  const { success, data } = READ.safeParse("value" in read ? read.value : undefined);
  if (success && data.id === id && data.attempt === attempt) return data;
  throw new MucastError("invalid_data", `${key} is not the status of attempt ${attempt} at ${id}`, {
    source: key,
  });
}

/** Undefined if there is no such blob. */
async function readBlob(store: BlobStore, key: string): Promise<WholeJson | undefined> {
  try {
    return await readWholeJson(store.read(key), MAX_BYTES);
  } catch (error) {
    if (error instanceof MucastError && error.code === "blob_not_found") return undefined;
    throw error;
  }
}
