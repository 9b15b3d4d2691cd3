import { createHash } from "node:crypto";
import type { BlobStore } from "../../blob/store.ts";
import type { BlobContents, BlobListQuery } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { LOCAL_SUBJECT } from "../auth/authenticate.ts";
import type { Caller } from "../auth/caller.ts";
import type { ListedBlob } from "../store/blobs.ts";

/** The store, and the key of a blob in it. */
export interface BlobAddress {
  readonly store: BlobStore;
  readonly key: string;
}

/** A blob that a caller may read. */
export interface FoundBlob extends BlobAddress {
  /** Its space in the storage; empty for the root. */
  readonly space: string;
}

/** What a preparation knows of a blob that it has stored. */
export interface KnownContents {
  readonly contents: BlobContents;
  /** Of the bytes that have these contents. */
  readonly etag: string;
}

/** An upload that the caller's quota has room for. */
export interface BlobUpload extends BlobAddress {
  /**
   * @param bytes received so far, or to be received.
   * @throws MucastError quota_exceeded if the quota has no room for them beside what the caller has stored and uploads at the same time.
   */
  checkRoom(bytes: number): void;
  /**
   * Records the blob once the store has it. @param bytes its size. @param known undefined if its contents are unknown.
   * @throws MucastError unavailable if the caller removes the blob meanwhile.
   */
  finish(bytes: number, known?: KnownContents): Promise<void>;
  /** Ends the upload, whether it has finished or not. */
  close(): Promise<void>;
}

/** A page of a caller's blobs. */
export interface ListedBlobs {
  readonly blobs: readonly (ListedBlob & Pick<BlobAddress, "store">)[];
  /** For the next page; undefined after the last one. */
  readonly cursor: string | undefined;
}

/** The blob functions for HTTP. Each caller has a separate space and a quota, and cannot see blobs of other callers. */
export interface Blobs {
  /** Lists recorded blobs of the caller, newest first. @throws MucastError invalid_request for an unknown cursor. */
  list(caller: Caller, query: BlobListQuery): Promise<ListedBlobs>;
  /** Finds a blob that the caller may read; undefined if there is none. The store may lack a blob that was found. */
  find(caller: Caller, name: string): Promise<FoundBlob | undefined>;
  /** The target of an upload of that name; undefined if the caller may not write there. */
  uploadAddress(caller: Caller, name: string): Promise<BlobAddress | undefined>;
  /**
   * Begins an upload, if the quota has room for it. Finishes an interrupted removal of that name first.
   * @param bytes undefined if the length is not known in advance.
   * @returns undefined if the caller may not write there.
   * @throws MucastError quota_exceeded; too_large for a blob larger than the whole quota; unavailable during a removal of the blob;
   * storage_failed.
   */
  beginUpload(caller: Caller, name: string, bytes: number | undefined): Promise<BlobUpload | undefined>;
  /**
   * Removes an input or an output.
   * @returns false if there is no such blob, or if another request is removing it. @throws MucastError blob_in_use, storage_failed.
   */
  remove(caller: Caller, name: string): Promise<boolean>;
}

const KEY_SUBJECT = /^key:[0-9a-f]{16}$/;

/**
 * The space of a caller in the storage: `key-<id>` for an API key, `sub-<SHA-256>` for any other subject, since its text can be
 * anything, and empty, the root of the storage, for the caller `local`. No two subjects share a space.
 */
export function spaceOf(subject: string): string {
  if (subject === LOCAL_SUBJECT) return "";
  if (KEY_SUBJECT.test(subject)) return subject.replace(":", "-");
  // UTF-16, since UTF-8 encodes every unpaired surrogate in the same way.
  return `sub-${createHash("sha256").update(Buffer.from(subject, "utf16le")).digest("hex")}`;
}

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/**
 * The error of a store as the answer to an HTTP request: the code `output_failed`, which is for jobs, becomes storage_full or
 * storage_failed.
 * @param what the message before the cause. @returns any other error unchanged.
 */
export function storageFailed(error: unknown, what: string): unknown {
  if (!(error instanceof MucastError) || error.code !== "output_failed") return error;
  const code = FULL.has(codeOf(error.cause) ?? "") ? "storage_full" : "storage_failed";
  const reason = error.cause === undefined ? error.message : causeOf(error.cause);
  return new MucastError(code, `${what}: ${reason}`, {}, { cause: error });
}
