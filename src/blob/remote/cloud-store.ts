import { randomBytes } from "node:crypto";
import { nameTaken, throwIfAborted } from "../blob-errors.ts";
import { checkSpace } from "../names.ts";
import {
  type Content,
  checkKey,
  type JobStore,
  type ListedBlob,
  placeOf,
  type ReadPart,
  type StoredBlob,
  type StoredBytes,
  type StoreWrite,
  splitBlocks,
} from "../store.ts";
import { openRemoteBlob, type RemoteOptions } from "./remote-blob.ts";
import { Refusal, type RequestContext } from "./remote-request.ts";

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

export interface UploadOptions {
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

/** Blobs `data/<name>` and `status/<name>` of a container of Azure or a bucket of S3, of a folder in one, or of a space in that. */
export class CloudStore implements JobStore {
  readonly url: string;
  readonly #storage: CloudStorage;
  readonly #space: string;

  constructor(storage: CloudStorage, space = "") {
    this.#storage = storage;
    this.#space = checkSpace(space);
    this.url = space === "" ? storage.url : `${storage.url}/${space}`;
  }

  within(space: string): CloudStore {
    return new CloudStore(this.#storage, space);
  }

  async stat(key: string): Promise<StoredBlob | undefined> {
    const found = await this.#storage.find(this.#nameOf(key), this.#context("reading", key));
    return found && { size: found.size, etag: found.etag };
  }

  async open(key: string, signal?: AbortSignal): Promise<StoredBytes> {
    return this.#openPart(key, { signal });
  }

  async *read(key: string, part: ReadPart = {}): AsyncGenerator<Uint8Array> {
    yield* (await this.#openPart(key, part)).chunks;
  }

  async #openPart(key: string, { signal, ...part }: ReadPart): Promise<StoredBytes> {
    const context = this.#context("reading", key, signal);
    const { url, ...access } = await this.#storage.openAccess(this.#nameOf(key), context);
    return openRemoteBlob(url, context.name, { ...access, part, signal });
  }

  async put(key: string, content: Content, options: StoreWrite = {}) {
    const context = this.#context("writing", key, options.signal);
    const created = (await this.#storage.find(this.#nameOf(key), context)) === undefined;
    return { created, etag: await this.#upload(key, content, options, false) };
  }

  async create(key: string, content: Content, options: StoreWrite = {}) {
    return { etag: await this.#upload(key, content, options, true) };
  }

  /** Content that fits into one block is written in one request. */
  async #upload(key: string, content: Content, { signal, limit }: StoreWrite, onlyNew: boolean) {
    const context = this.#context("writing", key, signal);
    const { name } = context;
    const mark = randomBytes(12).toString("hex");
    const upload = this.#storage.upload(this.#nameOf(key), context, { mark, onlyNew });
    try {
      let held: Uint8Array = new Uint8Array(0);
      for await (const block of splitBlocks(content, { size: this.#storage.blockBytes, name, limit })) {
        throwIfAborted(signal, "writing", name);
        if (held.length > 0) await upload.send(held);
        held = block;
      }
      throwIfAborted(signal, "writing", name);
      return await upload.finish(held);
    } catch (error) {
      // A last step may be refused because it succeeded before and its answer was lost: then the blob carries our mark.
      const mayExist =
        error instanceof Refusal &&
        ([404, 409, 412].includes(error.status) || error.word === "InvalidBlockList");
      const found = mayExist
        ? await this.#storage.find(this.#nameOf(key), context).catch(() => undefined)
        : undefined;
      if (found?.mark === mark) return found.etag;
      await upload.abort();
      throw found !== undefined && onlyNew ? nameTaken(name) : error;
    }
  }

  async checkNew(key: string): Promise<void> {
    const context = this.#context("writing", key);
    if ((await this.#storage.find(this.#nameOf(key), context)) !== undefined) throw nameTaken(context.name);
  }

  async remove(key: string): Promise<void> {
    await this.#storage.remove(this.#nameOf(key), this.#context("writing", key));
  }

  async *list(): AsyncGenerator<ListedBlob> {
    for await (const { name, ...blob } of this.#storage.list({ doing: "reading", name: this.#storage.url })) {
      const place = placeOf(name);
      if (place !== undefined) yield { ...place, ...blob };
    }
  }

  async close(): Promise<void> {
    if (this.#space === "") this.#storage.close();
  }

  #nameOf(key: string): string {
    return this.#space === "" ? key : `${this.#space}/${key}`;
  }

  #context(doing: RequestContext["doing"], key: string, signal?: AbortSignal): RequestContext {
    return { doing, name: `${this.url}/${checkKey(key)}`, signal };
  }
}
