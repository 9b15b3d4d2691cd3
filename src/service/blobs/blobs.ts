import { createHash } from "node:crypto";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { LOCAL_SUBJECT } from "../auth/authenticate.ts";
import type { Caller } from "../operations/operations.ts";

/** Where a blob lies, or will lie. */
export interface BlobAddress {
  readonly store: BlobStore;
  readonly key: string;
}

/** An upload that has room set aside for it, until it is finished or given up. */
export interface BlobUpload extends BlobAddress {
  /** Makes sure of room for that many bytes in all. @throws MucastError quota_exceeded, too_large. */
  reach(bytes: number): Promise<void>;
  /** Once the blob is there, with as many bytes. */
  finish(bytes: number): Promise<void>;
  /** Where nothing has changed at its place. Never rejects. */
  discard(): Promise<void>;
}

/**
 * What HTTP does with blobs. Each caller has a space of its own and is held to a quota; what another caller has stored
 * does not exist for it.
 */
export interface Blobs {
  /** A blob that the caller may read; undefined where there is none. It may still be missing in the storage. */
  find(caller: Caller, name: string): Promise<BlobAddress | undefined>;
  /** Where an upload of that name goes; undefined where that is not the caller's to write. */
  place(caller: Caller, name: string): Promise<BlobAddress | undefined>;
  /**
   * Sets room aside for an upload.
   * @param bytes undefined where its length is not told before.
   * @returns undefined where the place is not the caller's to write.
   * @throws MucastError quota_exceeded; too_large for what would never fit; unavailable where it is
   *   being removed and that does not end soon.
   */
  begin(caller: Caller, name: string, bytes: number | undefined): Promise<BlobUpload | undefined>;
  /**
   * Removes an input or an output, and gives back its room. Of several at the same time one does it, and the others wait.
   * @returns false where there is none, also where another one has just removed it. @throws MucastError blob_in_use,
   *   storage_failed; unavailable where another one does not end soon.
   */
  remove(caller: Caller, name: string): Promise<boolean>;
}

const KEY_SUBJECT = /^key:[0-9a-f]{16}$/;

/**
 * The space of a caller in the storage: `key-<id>` of an API key, `sub-<SHA-256>` of any other subject, whose text may
 * be anything; empty, the storage itself, where callers have no names. No two subjects share one.
 */
export function spaceOf(subject: string): string {
  if (subject === LOCAL_SUBJECT) return "";
  if (KEY_SUBJECT.test(subject)) return subject.replace(":", "-");
  // Not UTF-8, in which all halves of a surrogate pair are alike.
  return `sub-${createHash("sha256").update(Buffer.from(subject, "utf16le")).digest("hex")}`;
}

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/**
 * What a storage says of something that HTTP was asked for, in the words of that: a store speaks of outputs.
 * @returns any other error as it is.
 */
export function storageFailed(error: unknown, what: string): unknown {
  if (!(error instanceof MucastError) || error.code !== "output_failed") return error;
  const code = FULL.has(codeOf(error.cause) ?? "") ? "storage_full" : "storage_failed";
  const reason = error.cause === undefined ? error.message : causeOf(error.cause);
  return new MucastError(code, `${what}: ${reason}`, {}, { cause: error });
}
