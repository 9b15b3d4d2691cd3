import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
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
  const text = await textOf(store, key);
  if (text === undefined) return undefined;
  const { success, data } = READ.safeParse(jsonOf(text));
  if (success && data.id === id && data.attempt === attempt) return data;
  throw new MucastError("invalid_data", `${key} is not the status of attempt ${attempt} at ${id}`, {
    source: key,
  });
}

async function textOf(store: BlobStore, key: string): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of store.read(key)) {
      bytes += piece.length;
      if (bytes > MAX_BYTES) throw tooLarge(key);
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof MucastError && error.code === "blob_not_found") return undefined;
    throw error;
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** Undefined if the text is not JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tooLarge(key: string): MucastError {
  return new MucastError("invalid_data", `${key} is larger than any status`, { source: key });
}
