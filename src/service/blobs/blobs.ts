import { createHash } from "node:crypto";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { LOCAL_SUBJECT } from "../auth/authenticate.ts";
import type { Caller } from "../auth/caller.ts";

/** The store and the key in it where a blob lies or will lie. */
export interface BlobAddress {
  readonly store: BlobStore;
  readonly key: string;
}

/** A blob that a caller may read. */
export interface FoundBlob extends BlobAddress {
  /** The space of the storage in which it lies; empty for its root. */
  readonly space: string;
}

/** An upload with reserved room, until it is finished or discarded. */
export interface BlobUpload extends BlobAddress {
  /** Reserves room for that many bytes in all. @throws MucastError quota_exceeded; unavailable where the upload counted as interrupted. */
  reserve(bytes: number): Promise<void>;
  /** Records the blob once the store has it. @param bytes its size. */
  finish(bytes: number): Promise<void>;
  /** Ends an upload of a blob that was recorded before, and whose bytes stay: no other upload takes the blob back from then on. */
  keep(): Promise<void>;
  /** Releases the room of an upload that changed nothing in the store. Never rejects. */
  discard(): Promise<void>;
  /**
   * Removes the blob that `finish` was the first to record, unless another upload of it has ended since.
   * @throws MucastError blob_in_use while another upload goes on, or an operation that has not ended names it; storage_failed.
   */
  rollBack(): Promise<void>;
}

/**
 * What HTTP does with blobs. Each caller has a space of its own and a quota, and finds no blob of another caller.
 */
export interface Blobs {
  /** Finds a blob that the caller may read; undefined where there is none. The store may lack a blob that was found. */
  find(caller: Caller, name: string): Promise<FoundBlob | undefined>;
  /** Where an upload of that name goes; undefined where the caller may not write there. */
  uploadAddress(caller: Caller, name: string): Promise<BlobAddress | undefined>;
  /**
   * Reserves room for an upload.
   * @param bytes undefined where the length is not known in advance.
   * @returns undefined where the caller may not write there.
   * @throws MucastError quota_exceeded; too_large for a blob larger than the whole quota; unavailable where a removal of the blob
   *   does not end soon.
   */
  beginUpload(caller: Caller, name: string, bytes: number | undefined): Promise<BlobUpload | undefined>;
  /**
   * Removes an input or an output, and releases its room. Of concurrent removals one does it, and the others wait for it.
   * @returns false where there is no such blob, also where a concurrent removal has removed it. @throws MucastError blob_in_use,
   *   storage_failed; unavailable where a concurrent removal does not end soon.
   */
  remove(caller: Caller, name: string): Promise<boolean>;
}

const KEY_SUBJECT = /^key:[0-9a-f]{16}$/;

/**
 * The space of a caller in the storage: `key-<id>` for an API key, `sub-<SHA-256>` for any other subject, since its text may
 * be anything, and empty, the root of the storage, for the caller `local`. No two subjects share a space.
 */
export function spaceOf(subject: string): string {
  if (subject === LOCAL_SUBJECT) return "";
  if (KEY_SUBJECT.test(subject)) return subject.replace(":", "-");
  // UTF-16, since UTF-8 encodes every unpaired surrogate alike.
  return `sub-${createHash("sha256").update(Buffer.from(subject, "utf16le")).digest("hex")}`;
}

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/**
 * The error of a store as the answer to a request of HTTP: the code `output_failed`, which a job needs, becomes
 * storage_full or storage_failed.
 * @param what the message before the cause. @returns any other error unchanged.
 */
export function storageFailed(error: unknown, what: string): unknown {
  if (!(error instanceof MucastError) || error.code !== "output_failed") return error;
  const code = FULL.has(codeOf(error.cause) ?? "") ? "storage_full" : "storage_failed";
  const reason = error.cause === undefined ? error.message : causeOf(error.cause);
  return new MucastError(code, `${what}: ${reason}`, {}, { cause: error });
}
