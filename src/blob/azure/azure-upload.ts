import { createHash, randomBytes } from "node:crypto";
import type { BlockBlobClient, BlockBlobCommitBlockListOptions } from "@azure/storage-blob";
import { nameTaken, throwIfAborted } from "../blob-errors.ts";
import { mediaType } from "../names.ts";
import { failed, Refusal, type RequestContext } from "../remote/storage-request.ts";
import { blocksOf, type Content } from "../store.ts";
import type { AzureContainer } from "./azure-container.ts";

/** Small enough to be sent within the time limit of a request on a slow line; 50,000 of them make a blob of 195 GiB. */
const BLOCK_BYTES = 4 * 2 ** 20;

interface Upload {
  readonly content: Content;
  readonly limit: number | undefined;
  /** Fail if the blob exists. */
  readonly onlyNew: boolean;
}

/**
 * Writes a blob in blocks, which no reader sees until the last step makes a blob of them. Content that fits into one block is written in
 * one request. Each block carries its MD5, and the blob that of the whole, with its SHA-256 as metadata.
 * @returns its entity tag.
 * @throws MucastError output_failed, too_large, canceled; then nothing has changed.
 */
export function upload(
  container: AzureContainer,
  key: string,
  context: RequestContext,
  options: Upload,
): Promise<string> {
  return new Uploading(container, container.client(key), context, options).run();
}

class Uploading {
  /** Mark of this upload, which distinguishes a last step whose answer was lost from that of another writer. */
  readonly #mark = randomBytes(12).toString("hex");
  readonly #container: AzureContainer;
  readonly #client: BlockBlobClient;
  readonly #context: RequestContext;
  readonly #options: Upload;
  readonly #blockIds: string[] = [];
  readonly #md5 = createHash("md5");
  readonly #sha256 = createHash("sha256");
  #bytes = 0;

  constructor(container: AzureContainer, client: BlockBlobClient, context: RequestContext, options: Upload) {
    this.#container = container;
    this.#client = client;
    this.#context = context;
    this.#options = options;
  }

  async run(): Promise<string> {
    const { content, limit } = this.#options;
    const { name, signal } = this.#context;
    let held: Uint8Array = new Uint8Array(0);
    for await (const block of blocksOf(content, { size: BLOCK_BYTES, name, limit })) {
      throwIfAborted(signal, "writing", name);
      if (held.length > 0) await this.#stage(held);
      this.#count(block);
      held = block;
    }
    throwIfAborted(signal, "writing", name);
    if (this.#blockIds.length > 0) await this.#stage(held);
    return this.#finish(held);
  }

  #count(block: Uint8Array): void {
    this.#bytes += block.length;
    this.#md5.update(block);
    this.#sha256.update(block);
  }

  async #stage(block: Uint8Array): Promise<void> {
    // Block ids of one blob have one length, and another upload to the same name must not use the same.
    const number = String(this.#blockIds.length).padStart(6, "0");
    const id = Buffer.from(`${this.#mark}-${number}`).toString("base64");
    const transactionalContentMD5 = createHash("md5").update(block).digest();
    await this.#container
      .request(this.#context, (options) =>
        this.#client.stageBlock(id, block, block.length, { ...options, transactionalContentMD5 }),
      )
      .catch((error: unknown) => this.#fail(error));
    this.#blockIds.push(id);
  }

  /** The last step, after which the blob exists. @param whole the content, if it is one block. */
  async #finish(whole: Uint8Array): Promise<string> {
    const md5 = this.#md5.digest();
    const facts: BlockBlobCommitBlockListOptions = {
      conditions: this.#options.onlyNew ? { ifNoneMatch: "*" } : {},
      blobHTTPHeaders: { blobContentType: mediaType(this.#client.name), blobContentMD5: md5 },
      metadata: { sha256: this.#sha256.digest("hex"), upload: this.#mark },
    };
    const inBlocks = this.#blockIds.length > 0;
    try {
      const { etag } = await this.#container.request<{ etag?: string }>(this.#context, (options) =>
        inBlocks
          ? this.#client.commitBlockList(this.#blockIds, { ...facts, ...options })
          : this.#client.upload(whole, whole.length, {
              ...facts,
              ...options,
              transactionalContentMD5: md5,
            }),
      );
      if (inBlocks) await this.#checkStored(md5);
      return etag!;
    } catch (error) {
      return this.#lookAgain(error);
    }
  }

  /** The storage has checked each block, but not their concatenation. */
  async #checkStored(md5: Buffer): Promise<void> {
    const { contentLength, contentMD5, etag, metadata } = await this.#properties();
    const ours = metadata?.upload === this.#mark;
    if (!ours || (contentLength === this.#bytes && md5.equals(contentMD5 ?? md5))) return;
    await this.#container.request(this.#context, (options) =>
      this.#client.delete({ ...options, conditions: { ifMatch: etag! } }),
    );
    throw failed(this.#context, `${contentLength} bytes were stored of ${this.#bytes}, and removed again`);
  }

  #properties() {
    return this.#container.request(this.#context, (options) => this.#client.getProperties(options));
  }

  /**
   * A last step may be refused because it succeeded before and its answer was lost: then the blob carries our mark. Otherwise another
   * writer has written it, and that writer's last step drops our blocks.
   */
  async #lookAgain(error: unknown): Promise<string> {
    const isTaken = error instanceof Refusal && [400, 409, 412].includes(error.status);
    if (!isTaken) return this.#fail(error);
    const found = await this.#properties().catch((cause: unknown) => {
      if (cause instanceof Refusal) return undefined;
      throw cause;
    });
    if (found?.metadata?.upload === this.#mark) return found.etag!;
    if (found !== undefined && this.#options.onlyNew) throw nameTaken(this.#context.name);
    return this.#fail(error);
  }

  #fail(error: unknown): never {
    throw error instanceof Refusal ? failed(this.#context, error.message) : error;
  }
}
