import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { BlobContents } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { abortError } from "../abort-error.ts";
import type { Caller } from "../auth/caller.ts";
import { type Blobs, type BlobUpload, storageFailed } from "../blobs/blobs.ts";
import type { PreparedFile } from "../request-process/messages.ts";

/** The context in which the blobs of one preparation are stored. */
interface StoringParts {
  readonly blobs: Pick<Blobs, "find" | "uploadAddress" | "beginUpload">;
  readonly caller: Caller;
  /** Of both blobs. */
  readonly contents: BlobContents;
  readonly signal: AbortSignal;
}

/**
 * Uploads files as blobs of a caller, one after the other, and leaves out a blob that has the same bytes. Before the first, it checks
 * that no blob of their names has other bytes, and that the quota has room for all. If an upload fails, the blobs before it stay: the
 * same request stores the rest.
 * @returns the URL of the store, and whether any blob is new.
 * @throws MucastError precondition_failed if a blob of that name has other bytes; quota_exceeded, too_large; storage_full,
 * storage_failed; canceled.
 */
export async function storePrepared(
  parts: StoringParts,
  files: readonly PreparedFile[],
): Promise<{ readonly storeUrl: string; readonly written: boolean }> {
  const missing: PreparedFile[] = [];
  for (const file of files) if (!(await isStored(parts, file))) missing.push(file);
  const written = await storeAll(parts, missing);
  const { store } = (await parts.blobs.uploadAddress(parts.caller, files[0]!.name)) ?? {};
  if (store === undefined) throw taken(files[0]!.name);
  return { storeUrl: store.url, written };
}

/** Begins all uploads before the first one, so that the quota has room for all. @returns whether any blob is new. */
async function storeAll(parts: StoringParts, files: readonly PreparedFile[]): Promise<boolean> {
  const uploads: [PreparedFile, BlobUpload][] = [];
  try {
    for (const file of files) uploads.push([file, await begin(parts, file)]);
    let isAnyNew = false;
    for (const [file, upload] of uploads) if (await create(parts, file, upload)) isAnyNew = true;
    return isAnyNew;
  } finally {
    for (const [, upload] of uploads) await upload.close();
  }
}

/** Whether the caller has that blob with these bytes. @throws MucastError precondition_failed if the blob has others. */
async function isStored(parts: StoringParts, file: PreparedFile): Promise<boolean> {
  // Without a record, for example after a kill between the two steps, the caller cannot read the blob.
  return (
    (await etagOfSame(parts, file)) !== undefined &&
    (await parts.blobs.find(parts.caller, file.name)) !== undefined
  );
}

/** The tag of the stored bytes, if they are these. @throws MucastError precondition_failed if they are others. */
async function etagOfSame(
  { blobs, caller, signal }: StoringParts,
  file: PreparedFile,
): Promise<string | undefined> {
  const address = await blobs.uploadAddress(caller, file.name);
  if (address === undefined) throw taken(file.name);
  const { store, key } = address;
  const stored = await store.stat(key);
  if (stored === undefined) return undefined;
  if (stored.size !== file.bytes) throw taken(file.name);
  const hash = createHash("sha256");
  for await (const piece of store.read(key, { etag: stored.etag, signal })) hash.update(piece);
  if (hash.digest("hex") === file.sha256) return stored.etag;
  throw taken(file.name);
}

async function begin({ blobs, caller }: StoringParts, { name, bytes }: PreparedFile): Promise<BlobUpload> {
  const upload = await blobs.beginUpload(caller, name, bytes);
  if (upload === undefined) throw taken(name);
  return upload;
}

/** Stores a blob and records it. @returns false if the same bytes were there, from another request or without a record. */
async function create(parts: StoringParts, file: PreparedFile, upload: BlobUpload): Promise<boolean> {
  const { isNew, etag } = await createBytes(parts, file, upload).catch((error: unknown) => {
    throw storageFailed(error, `${file.name} could not be stored`);
  });
  await upload.finish(file.bytes, { contents: parts.contents, etag });
  return isNew;
}

/** Stores the bytes, unless the same are already there. */
async function createBytes(
  parts: StoringParts,
  file: PreparedFile,
  upload: BlobUpload,
): Promise<{ readonly isNew: boolean; readonly etag: string }> {
  const { signal } = parts;
  if (signal.aborted) throw abortError(signal, "prepare the blobs");
  try {
    const { etag } = await upload.store.create(upload.key, piecesOf(file), { signal, limit: file.bytes });
    return { isNew: true, etag };
  } catch (error) {
    const etag = signal.aborted ? undefined : await etagOfSame(parts, file);
    if (etag === undefined) throw error;
    return { isNew: false, etag };
  }
}

/** Opens the file when the store asks for the first piece, which a failing store does not. */
async function* piecesOf({ path }: PreparedFile): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path);
}

function taken(name: string): MucastError {
  const message = `there is a blob ${name} with other bytes, which is not replaced; give another id, or delete it first`;
  return new MucastError("precondition_failed", message, { path: "query.id", value: name });
}
