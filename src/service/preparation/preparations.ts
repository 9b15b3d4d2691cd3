import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { PrepareQuery } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Settings } from "../../contract/settings.ts";
import { openWorkFolder } from "../../jobs/shared/work-folder.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs, BlobUpload } from "../blobs/blobs.ts";
import { storageFailed } from "../blobs/storage.ts";
import type { PreparedFile, PreparedFiles } from "../request-process/prepare-request.ts";
import type { PrepareOrder } from "../request-process/request-processes.ts";

export type PrepareFiles = (order: PrepareOrder, signal: AbortSignal) => Promise<Buffer>;

interface PreparationsParts {
  readonly blobs: Pick<Blobs, "find" | "uploadAddress" | "beginUpload">;
  readonly run: PrepareFiles;
  readonly settings: Settings;
}

/** Bytes of a blob for each byte of a file: a price of eight characters becomes about 500 bytes of features. */
const MAX_GROWTH = 128;

export class Preparations {
  readonly #parts: PreparationsParts;
  /** By caller and id. Of two equal preparations at once, the second finds the blobs of the first, and needs no room. */
  readonly #storing = new Map<string, Promise<boolean>>();

  constructor(parts: PreparationsParts) {
    this.#parts = parts;
  }

  async prepare(
    caller: Caller,
    { bytes, multipartType }: { readonly bytes: Readable; readonly multipartType: string | undefined },
    { learning_end, only_features, time_zone, date_format, ...query }: PrepareQuery,
    signal: AbortSignal,
  ): Promise<PreparedFiles & { readonly storeUrl: string; readonly written: boolean }> {
    const { settings, run } = this.#parts;
    const { prepare_bytes: csvBytes, blob_tickers: tickers } = settings;
    let folder: string;
    try {
      folder = openWorkFolder().path;
    } catch (error) {
      throw storageFailed(error, "there is no room to prepare blobs");
    }
    try {
      const body = join(folder, "body");
      await receiveBody(bytes, body, settings, signal);
      const options = {
        ...query,
        ...{ learningEnd: learning_end, onlyFeatures: only_features },
        ...{ timeZone: time_zone, dateFormat: date_format },
      };
      const { upload_bytes, stored_bytes_per_caller } = settings;
      const blobBytes = Math.min(upload_bytes, stored_bytes_per_caller, MAX_GROWTH * csvBytes);
      const limits = { csvBytes, tickers, blobBytes };
      const answer = await run({ kind: "prepare", folder, body, multipartType, options, ...limits }, signal);
      const prepared: PreparedFiles = JSON.parse(answer.toString("utf8"));
      const key = `${caller.subject}\n${prepared.answer.id}`;
      const store = () => this.#store(caller, prepared, signal);
      const storing = this.#storing.get(key)?.then(store, store) ?? store();
      this.#storing.set(key, storing);
      const written = await storing.finally(() => {
        if (this.#storing.get(key) === storing) this.#storing.delete(key);
      });
      const address = (await this.#parts.blobs.uploadAddress(caller, prepared.files.prices.name))!;
      return { ...prepared, storeUrl: address.store.url, written };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Begins all uploads before the first, so that none is stored if a name has other bytes, or the quota has no room for all. */
  async #store(caller: Caller, prepared: PreparedFiles, signal: AbortSignal): Promise<boolean> {
    const { blobs } = this.#parts;
    const { ticker_count, dates, start, end } = prepared.answer;
    const uploads: [PreparedFile, BlobUpload][] = [];
    try {
      for (const file of [prepared.files.prices, prepared.files.features]) {
        const etag = await this.#findSame(caller, file, signal);
        // Bytes without a record, for example after a kill between the two steps, are recorded.
        if (etag !== undefined && (await blobs.find(caller, file.name)) !== undefined) continue;
        const upload = await blobs.beginUpload(caller, file.name, file.bytes);
        if (upload === undefined) throw taken(file.name);
        uploads.push([file, upload]);
      }
      let isAnyNew = false;
      for (const [file, upload] of uploads) {
        signal.throwIfAborted();
        const { store, key } = upload;
        let etag: string | undefined;
        try {
          ({ etag } = await store.create(key, readPieces(file.path), { signal, limit: file.bytes }));
          isAnyNew = true;
        } catch (error) {
          // Another request may have stored it.
          etag = signal.aborted ? undefined : await this.#findSame(caller, file, signal);
          if (etag === undefined) throw storageFailed(error, `${file.name} could not be stored`);
        }
        await upload.finish(file.bytes, { contents: { ticker_count, dates, start, end }, etag });
      }
      return isAnyNew;
    } finally {
      for (const [, upload] of uploads) await upload.close();
    }
  }

  async #findSame(
    caller: Caller,
    { name, bytes, sha256 }: PreparedFile,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const address = await this.#parts.blobs.uploadAddress(caller, name);
    if (address === undefined) throw taken(name);
    const stored = await address.store.stat(address.key);
    if (stored === undefined) return undefined;
    const { size, etag } = stored;
    const hash = createHash("sha256");
    if (size === bytes)
      for await (const piece of address.store.read(address.key, { etag, signal })) hash.update(piece);
    if (size !== bytes || hash.digest("hex") !== sha256) throw taken(name);
    return etag;
  }
}

/** Keeps a body in a file. After a failure, drops the rest: a caller that still sends could not read the problem. */
async function receiveBody(
  body: Readable,
  path: string,
  { prepare_bytes: limit, request_seconds: seconds }: Settings,
  signal: AbortSignal,
): Promise<void> {
  const slow = AbortSignal.timeout(seconds * 1_000);
  async function* withinLimit(pieces: AsyncIterable<Buffer>) {
    let bytes = 0;
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > limit) throw tooLarge(limit);
      yield piece;
    }
  }
  try {
    const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
    const stop = AbortSignal.any([signal, slow]);
    await pipeline(body.pipe(new PassThrough()), withinLimit, file, { signal: stop });
  } catch (cause) {
    signal.throwIfAborted();
    if (slow.aborted) {
      const message = `the body took longer than ${seconds} s to arrive (request_seconds)`;
      throw new MucastError("timed_out", message, { path: "body", limit: seconds });
    }
    if (cause instanceof MucastError) throw cause;
    const failed = new MucastError("output_failed", "the body could not be written", {}, { cause });
    throw storageFailed(failed, "the body could not be kept");
  } finally {
    body.resume();
  }
}

export function tooLarge(limit: number): MucastError {
  const message = `the body has more than ${limit} bytes (prepare_bytes); use mucast prepare`;
  return new MucastError("too_large", message, { path: "body", limit });
}

/** Opens the file when the store asks for the first piece, which a failing store does not. */
async function* readPieces(path: string): AsyncGenerator<Uint8Array, void> {
  yield* createReadStream(path);
}

function taken(name: string): MucastError {
  const message = `there is a blob ${name} with other bytes, which is not replaced; give another id, or delete it first`;
  return new MucastError("precondition_failed", message, { path: "query.id", value: name });
}
