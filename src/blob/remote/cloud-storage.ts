import { MucastError } from "../../contract/errors/errors.ts";
import { outputFailed } from "../blob-errors.ts";
import type { StoredBlob } from "../store.ts";
import type { RemoteOptions } from "./remote-blob.ts";
import { isExpired } from "./remote-request.ts";

/**
 * What Azure and S3 each do in their own way. Names are relative to `url`. Every method throws the MucastError of its context, as a
 * `Refusal` if a retry would not help, otherwise after its retries.
 */
export interface CloudStorage {
  /** The container or bucket, perhaps with a folder. */
  readonly url: string;
  readonly blockBytes: number;
  /** @returns undefined if there is no such blob; a missing container or bucket is an error. */
  find(name: string, context: RequestContext): Promise<FoundBlob | undefined>;
  /** How `openRemoteBlob` reads a blob, without the SDK, whose downloads end if a connection breaks. */
  openAccess(name: string, context: RequestContext): Promise<RemoteAccess>;
  upload(name: string, context: RequestContext, options: UploadOptions): BlockUpload;
  /** Harmless if there is no such blob. */
  remove(name: string, context: RequestContext): Promise<void>;
  list(context: RequestContext): AsyncIterable<{ name: string; size: number; modifiedAt: Date }>;
  close(): void;
}

export interface FoundBlob extends StoredBlob {
  readonly mark: string | undefined;
}

export interface RemoteAccess extends RemoteOptions {
  readonly url: URL;
}

interface UploadOptions {
  /** Metadata that tells the blob of this upload from that of another one. */
  readonly mark: string;
  /** Fail if the blob exists. */
  readonly onlyNew: boolean;
}

/** An upload in blocks, which no reader sees until `finish` makes a blob of them. */
export interface BlockUpload {
  send(block: Uint8Array): Promise<void>;
  /** @param last block; all of the content if no other was sent. @returns the entity tag. */
  finish(last: Uint8Array): Promise<string>;
  /** Drops the blocks of an upload that failed, as far as possible. */
  abort(): Promise<void>;
}

/** The purpose of a request, as an error message names it. */
export interface RequestContext {
  readonly doing: "reading" | "writing";
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** The error for an operation that failed. */
export function failed({ doing, name }: RequestContext, reason: string): MucastError {
  if (doing === "writing") return outputFailed(name, reason);
  return new MucastError("blob_unavailable", `${name} cannot be read: ${reason}`, { source: name });
}

/** @param word the storage's error code, such as `NoSuchKey`; not shown if it is not one word. */
export function describeAnswer(status: number, word: string): string {
  return `the storage answered ${status}${/^[A-Za-z]{1,60}$/.test(word) ? ` ${word}` : ""}`;
}

/** An answer of a storage that a retry cannot change. */
export class Refusal extends MucastError {
  readonly status: number;
  readonly word: string;

  constructor(context: RequestContext, status: number, word: string) {
    const rights =
      "; the credentials (a key, SAS, signature or role) may be missing, expired, or without the right to it";
    const isAboutRights = status === 401 || status === 403 || isExpired(word);
    const error = failed(context, `${describeAnswer(status, word)}${isAboutRights ? rights : ""}`);
    super(error.code, error.message, error.data);
    this.status = status;
    this.word = word;
  }
}
