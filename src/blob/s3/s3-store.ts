import { DeleteObjectCommand, HeadObjectCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { nameTaken } from "../blob-errors.ts";
import { checkSpace } from "../names.ts";
import { openRemoteBlob } from "../remote/remote-blob.ts";
import { failed, Refusal, type RequestContext } from "../remote/storage-request.ts";
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
} from "../store.ts";
import { S3Bucket, type S3Options } from "./s3-bucket.ts";
import { upload } from "./s3-upload.ts";

/** @throws MucastError invalid_request, url_not_allowed; see S3Bucket.open. */
export async function openS3Store(url: string, options: S3Options): Promise<JobStore> {
  return new S3Store(await S3Bucket.open(url, options));
}

/** Blobs `data/<name>` and `status/<name>` of a bucket, of a folder in one, or of a space in that. */
class S3Store implements JobStore {
  readonly url: string;
  readonly #bucket: S3Bucket;
  readonly #space: string;

  constructor(bucket: S3Bucket, space = "") {
    this.#space = checkSpace(space);
    this.url = space === "" ? bucket.url : `${bucket.url}/${space}`;
    this.#bucket = bucket;
  }

  within(space: string): S3Store {
    return new S3Store(this.#bucket, space);
  }

  async stat(key: string): Promise<StoredBlob | undefined> {
    const context = this.#requestContext("reading", key);
    const found = await this.#find(context, key);
    if (found === undefined) await this.#bucket.checkBucket(context);
    return found;
  }

  async open(key: string, signal?: AbortSignal): Promise<StoredBytes> {
    return this.#openPart(key, { signal });
  }

  async *read(key: string, part: ReadPart = {}): AsyncGenerator<Uint8Array> {
    const stored = await this.#openPart(key, part);
    try {
      yield* stored.chunks;
    } finally {
      await stored.close();
    }
  }

  /** Without the SDK, whose answers end if a connection breaks. */
  async #openPart(key: string, { signal, ...part }: ReadPart): Promise<StoredBytes> {
    const context = this.#requestContext("reading", key, signal);
    const { url, ...access } = await this.#bucket.readAccess(this.#nameOf(key), context);
    const { limits, ca } = this.#bucket.options;
    return openRemoteBlob(url, context.name, { ...access, limits, ca, part, signal });
  }

  async put(key: string, content: Content, { signal, limit }: StoreWrite = {}) {
    const context = this.#requestContext("writing", key, signal);
    const created = (await this.#find(context, key)) === undefined;
    const etag = await upload(this.#bucket, this.#nameOf(key), context, { content, limit, onlyNew: false });
    return { created, etag };
  }

  async create(key: string, content: Content, { signal, limit }: StoreWrite = {}) {
    const context = this.#requestContext("writing", key, signal);
    return {
      etag: await upload(this.#bucket, this.#nameOf(key), context, { content, limit, onlyNew: true }),
    };
  }

  async checkNew(key: string): Promise<void> {
    const context = this.#requestContext("writing", key);
    if ((await this.#find(context, key)) !== undefined) throw nameTaken(context.name);
    await this.#bucket.checkBucket(context);
  }

  async remove(key: string): Promise<void> {
    const context = this.#requestContext("writing", key);
    const command = new DeleteObjectCommand(this.#bucket.place(this.#nameOf(key)));
    try {
      await this.#bucket.request(context, (client, options) => client.send(command, options));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.word !== "NoSuchKey") throw failed(context, error.message);
    }
  }

  async *list(): AsyncGenerator<ListedBlob> {
    const { Bucket, Key: prefix } = this.#bucket.place("");
    const context: RequestContext = { doing: "reading", name: this.#bucket.url };
    let next: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: next });
      const page = await this.#bucket
        .request(context, (client, options) => client.send(command, options))
        .catch((error: unknown) => {
          throw error instanceof Refusal ? failed(context, error.message) : error;
        });
      for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
        const place = placeOf(Key.slice(prefix.length));
        if (place !== undefined && LastModified !== undefined)
          yield { ...place, size: Size, modifiedAt: LastModified };
      }
      next = page.NextContinuationToken;
    } while (next !== undefined);
  }

  async close(): Promise<void> {
    if (this.#space === "") this.#bucket.close();
  }

  /** Relative to the folder of the bucket. */
  #nameOf(key: string): string {
    return this.#space === "" ? key : `${this.#space}/${key}`;
  }

  #requestContext(doing: RequestContext["doing"], key: string, signal?: AbortSignal): RequestContext {
    return { doing, name: `${this.url}/${checkKey(key)}`, signal };
  }

  /** @returns undefined if there is no such blob; the answer is the same if there is no such bucket. */
  async #find(context: RequestContext, key: string): Promise<StoredBlob | undefined> {
    const command = new HeadObjectCommand(this.#bucket.place(this.#nameOf(key)));
    try {
      const { ContentLength, ETag } = await this.#bucket.request(context, (client, options) =>
        client.send(command, options),
      );
      if (ContentLength === undefined || ETag === undefined)
        throw failed(context, "the storage answered without the size or the entity tag of the blob");
      return { size: ContentLength, etag: ETag };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 404) return undefined;
      throw failed(context, error.message);
    }
  }
}
