import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PrepareQuery } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { openWorkFolder } from "../../jobs/shared/work-folder.ts";
import { abortError } from "../abort-error.ts";
import type { Caller } from "../auth/caller.ts";
import { type Blobs, storageFailed } from "../blobs/blobs.ts";
import { BODY_NAME, type PreparedFiles, type PrepareOrder } from "../request-process/messages.ts";
import { storePrepared } from "./store-prepared.ts";

export type PrepareFiles = (order: PrepareOrder, signal: AbortSignal) => Promise<Buffer>;

export interface PreparationsParts {
  readonly blobs: Blobs;
  readonly run: PrepareFiles;
  readonly settings: {
    readonly prepare_bytes: number;
    readonly blob_tickers: number;
    readonly upload_bytes: number;
    readonly stored_bytes_per_caller: number;
    readonly request_seconds: number;
  };
}

export interface PrepareBody {
  /** Prices, possibly gzip, or multipart/form-data. */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly multipartType: string | undefined;
}

export interface Prepared extends Omit<PreparedFiles, "files"> {
  readonly names: { readonly prices: string; readonly features: string };
  /** The prefix of URLs of the store, see `BlobStore`. */
  readonly storeUrl: string;
  readonly written: boolean;
}

/**
 * Bytes of a blob for each byte that a file may have. A price of eight characters becomes features of about 500 bytes, and one of a single
 * digit too: a CSV of 16 MB without this limit takes 4 GB of the disk until its blobs are stored.
 */
const MAX_GROWTH = 128;

export class Preparations {
  readonly #parts: PreparationsParts;
  /** The last preparation of each caller and id that is being stored. */
  readonly #storing = new Map<string, Promise<unknown>>();

  constructor(parts: PreparationsParts) {
    this.#parts = parts;
  }

  /**
   * @param signal aborts; then nothing stays.
   * @throws MucastError too_large for the body or a blob; timed_out for a slow body; of the process; of `storePrepared`.
   */
  async prepare(
    caller: Caller,
    { bytes, multipartType }: PrepareBody,
    { learning_end, only_features, time_zone, date_format, ...query }: PrepareQuery,
    signal: AbortSignal,
  ): Promise<Prepared> {
    const { settings, run } = this.#parts;
    const { path: folder } = workFolder();
    try {
      await this.#receive(bytes, join(folder, BODY_NAME), signal);
      const options = {
        ...query,
        ...{ learningEnd: learning_end, onlyFeatures: only_features },
        ...{ timeZone: time_zone, dateFormat: date_format },
      };
      const blobBytes = Math.min(
        settings.upload_bytes,
        settings.stored_bytes_per_caller,
        MAX_GROWTH * settings.prepare_bytes,
      );
      const order = {
        kind: "prepare",
        folder,
        multipartType,
        options,
        csvBytes: settings.prepare_bytes,
        blobBytes,
        tickers: settings.blob_tickers,
      } as const;
      const answer = await run(order, signal);
      const { files, ...facts } = JSON.parse(answer.toString("utf8")) as PreparedFiles;
      const { prices, features } = files;
      const { tickerCount: ticker_count, dates, start, end } = facts;
      const contents = { ticker_count, dates, start, end };
      const stored = await this.#inOrder(`${caller.subject} ${facts.id}`, () =>
        storePrepared({ blobs: this.#parts.blobs, caller, contents, signal }, [prices, features]),
      );
      return { ...facts, ...stored, names: { prices: prices.name, features: features.name } };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #receive(body: AsyncIterable<Uint8Array>, path: string, signal: AbortSignal): Promise<void> {
    const { prepare_bytes: limit, request_seconds: seconds } = this.#parts.settings;
    const ending = Promise.withResolvers<never>();
    const abort = () => ending.reject(abortError(signal, "prepare the blobs"));
    const timeout = setTimeout(() => ending.reject(tooSlow(seconds)), seconds * 1_000);
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    // It may end while a piece is written.
    ending.promise.catch(() => undefined);
    try {
      await writeFile(piecesUntil(body, ending.promise), path, limit);
    } catch (error) {
      throw storageFailed(error, "the body could not be kept");
    } finally {
      clearTimeout(timeout);
      signal.removeEventListener("abort", abort);
    }
  }

  /** One after the other for the same key: if the first rolls its blobs back, the next must not have relied on them. */
  async #inOrder<T>(key: string, store: () => Promise<T>): Promise<T> {
    const before = this.#storing.get(key);
    const storing = (before ?? Promise.resolve()).catch(() => undefined).then(store);
    this.#storing.set(key, storing);
    try {
      return await storing;
    } finally {
      if (this.#storing.get(key) === storing) this.#storing.delete(key);
    }
  }
}

function workFolder() {
  try {
    return openWorkFolder();
  } catch (error) {
    throw storageFailed(error, "there is no room to prepare blobs");
  }
}

/**
 * The pieces of a body, until `ending` rejects. Pieces that arrive after the consumer has stopped are read and dropped until the
 * connection closes; otherwise the caller's system would not let it read the problem.
 */
async function* piecesUntil(body: AsyncIterable<Uint8Array>, ending: Promise<never>) {
  const pieces = body[Symbol.asyncIterator]();
  const next = () => Promise.race([pieces.next(), ending]);
  try {
    for (let piece = await next(); !piece.done; piece = await next()) yield piece.value;
  } finally {
    void dropRest(pieces);
  }
}

/** If the connection fails, nothing is left to drop. */
async function dropRest(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  const next = () => pieces.next().catch(() => undefined);
  for (let piece = await next(); piece?.done === false; ) piece = await next();
}

async function writeFile(body: AsyncIterable<Uint8Array>, path: string, limit: number): Promise<void> {
  const file = await onDisk(open(path, "wx", 0o600));
  try {
    let bytes = 0;
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > limit) throw tooLarge(limit);
      await onDisk(file.writeFile(piece));
    }
  } finally {
    await file.close();
  }
}

/** A disk error is not a fault of the body, which may end early. */
function onDisk<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    throw new MucastError("output_failed", "the body could not be written", {}, { cause });
  });
}

export function tooLarge(limit: number): MucastError {
  const message = `the body has more than ${limit} bytes (prepare_bytes); use mucast prepare`;
  return new MucastError("too_large", message, { path: "body", limit });
}

function tooSlow(seconds: number): MucastError {
  const message = `the body took longer than ${seconds} s to arrive (request_seconds)`;
  return new MucastError("timed_out", message, { path: "body", limit: seconds });
}
