import { createHash } from "node:crypto";
import { type Blob, openBlob } from "../blob/open-blob.ts";
import type { BlobPolicy } from "../blob/policy.ts";
import { readOutput } from "../client/read-output.ts";
import { NOT_AN_OUTPUT } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { type OutputSummary, summaryOf } from "./output-summary.ts";
import { type Entry, entriesOf, readMembers } from "./read-members.ts";
import {
  outOfFoldRows,
  type ScoredRows,
  type Series,
  scoredRows,
  seriesReader,
  type TestedRows,
} from "./scored-rows.ts";

/** An output with its forecasts as typed arrays. */
export interface OutputDocument {
  /** Its path, or its URL without a secret. */
  readonly name: string;
  /** Digest of the bytes as stored. */
  readonly sha256: string;
  readonly document: OutputSummary;
  readonly rows: readonly ScoredRows[];
  /** Undefined if there are no folds. */
  readonly outOfFold: readonly TestedRows[] | undefined;
}

/** How blobs are read. */
export interface Reading {
  readonly policy: BlobPolicy;
  readonly signal?: AbortSignal;
  /** BLOB_URL, perhaps with its SAS; for blobs in that container. */
  readonly blobUrl?: string | undefined;
}

/**
 * Reads the output of a job.
 * @param location a path, a file: URL or an https URL.
 * @throws MucastError of reading it; unreadable_blob if it is not JSON or not the output of a job; invalid_data if lists differ in
 * length, or dates do not ascend.
 */
export async function openDocument(location: string, reading: Reading): Promise<OutputDocument> {
  const blob = await openOutputBlob(location, reading);
  const parts = await readParts(blob, reading.signal);
  return { name: blob.name, sha256: blob.digest(), ...parts };
}

/** The same for an output whose bytes come from a store. @throws MucastError of `chunks`; like `openDocument`. */
export async function readDocument(name: string, chunks: AsyncIterable<Uint8Array>): Promise<OutputDocument> {
  const hash = createHash("sha256");
  async function* hashed() {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const parts = await readParts({ name, chunks: hashed() });
  return { name, sha256: hash.digest("hex"), ...parts };
}

/**
 * Reads an output without its forecasts; of one that a job of this version has written, only the bytes before them.
 * @throws MucastError like `openDocument`.
 */
export async function openSummary(location: string, reading: Reading): Promise<OutputSummary> {
  const blob = await openOutputBlob(location, reading);
  return (await readParts(blob, reading.signal, true)).document;
}

/** @param isSummary whether forecasts by ticker are left out. */
async function readParts(
  source: ByteSource,
  signal?: AbortSignal,
  isSummary = false,
): Promise<Omit<OutputDocument, "name" | "sha256">> {
  const members = new Map<string, unknown>();
  const forecasts = new Map<string, Series>();
  const tested = new Map<string, Series>();
  const read = seriesReader(source.name);
  for await (const { member, key, value } of readEntries(source, signal)) {
    if (key === undefined) {
      // Jobs write the small members first.
      if (isSummary && member === "forecasts" && members.has("failures")) break;
      members.set(member, isObject(value) ? new Map() : value);
    } else if (member === "forecasts" || member === "cross_validation") {
      if (isSummary) continue;
      const series = read(member, key, value);
      if (member === "forecasts") forecasts.set(key, series);
      else {
        tested.set(key, series);
        const figures = { ...(value as object), dates: [], predicted: [], realised: [] };
        (members.get(member) as Map<string, unknown>).set(key, figures);
      }
    } else (members.get(member) as Map<string, unknown>).set(key, value);
  }
  for (const [member, value] of members)
    if (value instanceof Map) members.set(member, Object.fromEntries(value));
  const output = Object.fromEntries(members);
  if (isSummary) output.forecasts = {};
  let document: OutputSummary;
  try {
    document = summaryOf(readOutput(output));
  } catch (cause) {
    throw notAnOutput(source.name, `${source.name}: ${(cause as TypeError).message}`, cause);
  }
  const outOfFold = members.has("cross_validation")
    ? outOfFoldRows(source.name, document, tested)
    : undefined;
  return { document, rows: scoredRows(document, forecasts), outOfFold };
}

/** The entries of an output. @throws MucastError unreadable_blob, also for an input blob. */
async function* readEntries(source: ByteSource, signal: AbortSignal | undefined): AsyncGenerator<Entry> {
  let isOutput = false;
  try {
    for await (const entry of entriesOf(source, signal)) {
      isOutput ||= entry.member === "schema";
      if (!isOutput && (entry.member === "features" || entry.member === "prices")) {
        const message = `${source.name} is an input blob, not the output of a job, which is called ml_engine_… or nn_engine_…`;
        throw notAnOutput(source.name, message);
      }
      yield entry;
    }
  } catch (cause) {
    if (!(cause instanceof MucastError && cause.code === "unreadable_blob") || cause.data.advice) throw cause;
    const advice = "Name a file that mucast has written. `mucast list` shows the outputs in a folder.";
    throw new MucastError(cause.code, cause.message, { source: source.name, advice }, { cause });
  }
}

function notAnOutput(source: string, message: string, cause?: unknown): MucastError {
  return new MucastError("unreadable_blob", message, { source, ...NOT_AN_OUTPUT }, { cause });
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function openOutputBlob(location: string, { policy, signal, blobUrl }: Reading): Promise<Blob> {
  return openBlob(location, policy, { blobUrl, names: "output", ...(signal && { signal }) });
}

/** A verdict of `mucast replay` or `mucast audit`, as it was written; its shape is not checked yet. */
export async function readVerdict(location: string, reading: Reading) {
  const blob = await openOutputBlob(location, reading);
  const value = await readMembers(blob, () => true, reading.signal);
  return { name: blob.name, sha256: blob.digest(), value };
}
