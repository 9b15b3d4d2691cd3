import { randomBytes } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { nameTaken, throwIfAborted } from "../blob-errors.ts";
import { mediaType } from "../names.ts";
import { failed, Refusal, type RequestContext } from "../remote/storage-request.ts";
import { blocksOf, type Content } from "../store.ts";
import type { S3Bucket, S3Send } from "./s3-bucket.ts";

/** S3 has at most 10,000 parts a blob, each of at least 5 MiB: these make a blob of 78 GiB. */
const PART_BYTES = 8 * 2 ** 20;

interface Upload {
  readonly content: Content;
  readonly limit: number | undefined;
  /** Fail if the blob exists. */
  readonly onlyNew: boolean;
}

/**
 * Writes a blob in parts, which no reader sees until the last step makes a blob of them. Content that fits into one part is written in one
 * request. The SDK gives each request the CRC-32 of its bytes, which the storage checks.
 * @param name relative to the folder of the bucket.
 * @returns its entity tag.
 * @throws MucastError output_failed, too_large, canceled; then nothing has changed.
 */
export async function upload(
  bucket: S3Bucket,
  name: string,
  context: RequestContext,
  options: Upload,
): Promise<string> {
  const uploading = new Uploading(bucket, name, context, options);
  try {
    return await uploading.run();
  } catch (error) {
    await uploading.discard();
    throw error instanceof Refusal ? failed(context, error.message) : error;
  }
}

class Uploading {
  /** Mark of this upload, which distinguishes a last step whose answer was lost from that of another writer. */
  readonly #mark = randomBytes(12).toString("hex");
  readonly #bucket: S3Bucket;
  readonly #context: RequestContext;
  readonly #options: Upload;
  readonly #place: { Bucket: string; Key: string };
  readonly #parts: CompletedPart[] = [];
  #uploadId: string | undefined;

  constructor(bucket: S3Bucket, name: string, context: RequestContext, options: Upload) {
    this.#bucket = bucket;
    this.#context = context;
    this.#options = options;
    this.#place = bucket.place(name);
  }

  async run(): Promise<string> {
    const { content, limit } = this.#options;
    const { name, signal } = this.#context;
    let held: Uint8Array = new Uint8Array(0);
    for await (const part of blocksOf(content, { size: PART_BYTES, name, limit })) {
      throwIfAborted(signal, "writing", name);
      if (held.length > 0) await this.#send(held);
      held = part;
    }
    throwIfAborted(signal, "writing", name);
    if (this.#uploadId === undefined) return this.#last(this.#putWhole(held));
    await this.#send(held);
    return this.#last(this.#complete());
  }

  /** Drops the parts of an upload that failed; if this fails too, the bucket's lifecycle rule drops them. */
  async discard(): Promise<void> {
    const { signal, ...context } = this.#context;
    const UploadId = this.#uploadId;
    if (UploadId === undefined) return;
    const command = new AbortMultipartUploadCommand({ ...this.#place, UploadId });
    await this.#bucket
      .request(context, (client, options) => client.send(command, options))
      .catch(() => undefined);
  }

  /** What the blob has beside its bytes. */
  get #facts() {
    return {
      ...this.#place,
      ContentType: mediaType(this.#place.Key),
      Metadata: { upload: this.#mark },
    };
  }

  get #condition() {
    return this.#options.onlyNew ? { IfNoneMatch: "*" } : {};
  }

  async #send(part: Uint8Array): Promise<void> {
    this.#uploadId ??= await this.#begin();
    const PartNumber = this.#parts.length + 1;
    const command = new UploadPartCommand({
      ...this.#place,
      UploadId: this.#uploadId,
      PartNumber,
      Body: part,
    });
    const { ETag, ChecksumCRC32 } = await this.#request((client, options) => client.send(command, options));
    this.#parts.push({ PartNumber, ETag, ChecksumCRC32 });
  }

  async #begin(): Promise<string> {
    const command = new CreateMultipartUploadCommand({ ...this.#facts, ChecksumAlgorithm: "CRC32" });
    const { UploadId } = await this.#request((client, options) => client.send(command, options));
    return UploadId!;
  }

  #putWhole(whole: Uint8Array): Promise<{ ETag?: string | undefined }> {
    const command = new PutObjectCommand({ ...this.#facts, ...this.#condition, Body: whole });
    return this.#request((client, options) => client.send(command, options));
  }

  #complete(): Promise<{ ETag?: string | undefined }> {
    const command = new CompleteMultipartUploadCommand({
      ...this.#place,
      ...this.#condition,
      UploadId: this.#uploadId,
      MultipartUpload: { Parts: this.#parts },
    });
    return this.#request((client, options) => client.send(command, options));
  }

  #request<T>(send: S3Send<T>): Promise<T> {
    return this.#bucket.request(this.#context, send);
  }

  /**
   * The last step, after which the blob exists. It may be refused because it succeeded before and its answer was lost: then the blob
   * carries our mark. Otherwise another writer has written it.
   */
  async #last(step: Promise<{ ETag?: string | undefined }>): Promise<string> {
    try {
      return (await step).ETag!;
    } catch (error) {
      const isTaken = error instanceof Refusal && [404, 409, 412].includes(error.status);
      if (!isTaken) throw error;
      const found = await this.#find();
      if (found?.Metadata?.upload === this.#mark) {
        this.#uploadId = undefined;
        return found.ETag!;
      }
      if (found !== undefined && this.#options.onlyNew) throw nameTaken(this.#context.name);
      throw error;
    }
  }

  #find() {
    const command = new HeadObjectCommand(this.#place);
    return this.#request((client, options) => client.send(command, options)).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
  }
}
