import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";
import { abortError } from "../abort-error.ts";
import type { Caller } from "../auth/caller.ts";
import { type Blobs, type BlobUpload, storageFailed } from "../blobs/blobs.ts";
import type { PreparedFile } from "../request-process/messages.ts";

type StoringBlobs = Pick<Blobs, "find" | "uploadAddress" | "beginUpload">;

/** The context in which the blobs of one preparation are stored. */
interface StoringParts {
  readonly blobs: StoringBlobs;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Stores files as blobs of a caller: all of them, or none that did not exist before. It reserves space for all before it writes the
 * first, and does not touch a blob with the same bytes. If it fails, it removes what it stored, except for blobs that another
 * request, possibly on another service, has stored or found in the meantime. If two requests fail together, the blob stays.
 * @returns the URL of the store, and whether any blob is new.
 * @throws MucastError precondition_failed if a blob of that name has other bytes; quota_exceeded, too_large; storage_full,
 * storage_failed; canceled.
 */
export async function storeTogether(
  parts: StoringParts,
  files: readonly PreparedFile[],
): Promise<{ readonly storeUrl: string; readonly written: boolean }> {
  const missing = new Set<PreparedFile>();
  for (const file of files) if (!(await isStored(parts, file))) missing.add(file);
  const uploads = new Map<PreparedFile, BlobUpload>();
  const created: BlobUpload[] = [];
  try {
    for (const file of files) uploads.set(file, await beginUpload(parts, file, missing));
    for (const [file, upload] of uploads) {
      uploads.delete(file);
      if (!missing.has(file)) await upload.keep();
      else if (await create(parts, file, upload)) created.push(upload);
    }
  } catch (error) {
    for (const upload of uploads.values()) await upload.discard();
    for (const upload of created) await rollBack(upload);
    throw error;
  }
  const { store } = (await parts.blobs.uploadAddress(parts.caller, files[0]!.name)) ?? {};
  if (store === undefined) throw taken(files[0]!.name);
  return { storeUrl: store.url, written: created.length > 0 };
}

/**
 * Starts the upload of a file. For a blob that is already stored it reserves nothing: while it runs, no other request rolls the blob
 * back. If one has just done so, the file is missing.
 */
async function beginUpload(
  parts: StoringParts,
  file: PreparedFile,
  missing: Set<PreparedFile>,
): Promise<BlobUpload> {
  if (missing.has(file)) return reserved(parts, file, file.bytes);
  const upload = await reserved(parts, file, 0);
  try {
    if (await pathExists(parts, file)) return upload;
  } catch (error) {
    await upload.discard();
    throw error;
  }
  await upload.discard();
  missing.add(file);
  return reserved(parts, file, file.bytes);
}

/** Whether the caller has that blob with these bytes. @throws MucastError precondition_failed if the blob has others. */
async function isStored(parts: StoringParts, file: PreparedFile): Promise<boolean> {
  // Without a record, for example after a kill between the two steps, the caller cannot read the blob.
  return (await hasBytes(parts, file)) && (await parts.blobs.find(parts.caller, file.name)) !== undefined;
}

/** The same without reading it, for a blob that was just stored with these bytes. */
async function pathExists({ blobs, caller }: StoringParts, file: PreparedFile): Promise<boolean> {
  const found = await blobs.find(caller, file.name);
  return found !== undefined && (await found.store.stat(found.key))?.size === file.bytes;
}

/** The same, comparing only its bytes. */
async function hasBytes({ blobs, caller, signal }: StoringParts, file: PreparedFile): Promise<boolean> {
  const address = await blobs.uploadAddress(caller, file.name);
  if (address === undefined) throw taken(file.name);
  const { store, key } = address;
  const stored = await store.stat(key);
  if (stored === undefined) return false;
  if (stored.size !== file.bytes) throw taken(file.name);
  const hash = createHash("sha256");
  for await (const piece of store.read(key, { etag: stored.etag, signal })) hash.update(piece);
  if (hash.digest("hex") === file.sha256) return true;
  throw taken(file.name);
}

async function reserved(
  { blobs, caller }: StoringParts,
  { name }: PreparedFile,
  bytes: number,
): Promise<BlobUpload> {
  const upload = await blobs.beginUpload(caller, name, bytes);
  if (upload === undefined) throw taken(name);
  return upload;
}

/** Stores a blob and records it. @returns false if the same bytes were there, from another request or without a record. */
async function create(parts: StoringParts, file: PreparedFile, upload: BlobUpload): Promise<boolean> {
  let isNew: boolean;
  try {
    isNew = await createBytes(parts, file, upload);
  } catch (error) {
    await upload.discard();
    throw storageFailed(error, `${file.name} could not be stored`);
  }
  await upload.finish(file.bytes);
  return isNew;
}

/** @returns false if the same bytes are already there. */
async function createBytes(parts: StoringParts, file: PreparedFile, upload: BlobUpload): Promise<boolean> {
  const { signal } = parts;
  if (signal.aborted) throw abortError(signal, "prepare the blobs");
  try {
    await upload.store.create(upload.key, piecesOf(file), { signal, limit: file.bytes });
    return true;
  } catch (error) {
    if (!signal.aborted && (await hasBytes(parts, file))) return false;
    throw error;
  }
}

/** Opens the file when the store asks for the first piece, which a failing store does not. */
async function* piecesOf({ path }: PreparedFile): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path);
}

/** An operation may name the blob by now, or another request may store it; then it stays. */
async function rollBack(upload: BlobUpload): Promise<void> {
  await upload.rollBack().catch((error: unknown) => {
    if (!(error instanceof MucastError)) throw error;
  });
}

function taken(name: string): MucastError {
  const message = `there is a blob ${name} with other bytes, which is not replaced; give another id, or delete it first`;
  return new MucastError("precondition_failed", message, { path: "query.id", value: name });
}
