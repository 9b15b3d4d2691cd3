import { createHash, type Hash } from "node:crypto";
import { openBlob } from "../blob/open-blob.ts";
import type { BlobPolicy } from "../blob/policy.ts";
import { readOutput } from "../client/read-output.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { NOT_AN_OUTPUT } from "../contract/errors/wrong-document.ts";
import { readWholeJson } from "../contract/json/whole-json.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import type { ForecastRows } from "../evaluate/forecast-rows.ts";
import { type OutputSummary, summaryOf } from "./output-summary.ts";
import { outOfFoldRows, type ScoredRows, scoredRows } from "./scored-rows.ts";

/** An output with its forecasts as typed arrays: lists would burden garbage collection for as long as the document exists. */
export interface OutputDocument {
  /** Its path, or its URL without a secret. */
  readonly name: string;
  /** Digest of the bytes as stored. */
  readonly sha256: string;
  readonly document: OutputSummary;
  readonly rows: readonly ScoredRows[];
  /** Undefined if there are no folds. */
  readonly outOfFold: readonly ForecastRows[] | undefined;
}

/** @throws MucastError invalid_data if lists differ in length, or dates do not ascend. */
export function outputDocument(name: string, sha256: string, output: OutputBlob): OutputDocument {
  const rows = scoredRows(name, output);
  return { name, sha256, document: summaryOf(output), rows, outOfFold: outOfFoldRows(name, output) };
}

/** Maximum size of a document in bytes, decompressed: its text has to fit into one string of Node.js. */
const DOCUMENT_BYTES = 400 * 2 ** 20;

/** Maximum size of the verdict of a replay or an audit, in bytes. */
const VERDICT_BYTES = 64 * 2 ** 20;

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
 * @throws MucastError of reading it; too_large; unreadable_blob if it is not JSON or not the output of a job; of `outputDocument`.
 */
export async function openDocument(location: string, reading: Reading): Promise<OutputDocument> {
  return asOutput(await readJson(location, reading, DOCUMENT_BYTES));
}

/**
 * The same for an output whose bytes come from a store.
 * @throws MucastError of `chunks`; too_large; unreadable_blob; of `outputDocument`.
 */
export async function readDocument(name: string, chunks: AsyncIterable<Uint8Array>): Promise<OutputDocument> {
  const hash = createHash("sha256");
  const value = await readValue(name, hashed(chunks, hash));
  return asOutput({ name, sha256: hash.digest("hex"), value });
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

function asOutput({ value, name, sha256 }: ReadJson): OutputDocument {
  return outputDocument(name, sha256, checkedOutput(name, value));
}

function checkedOutput(name: string, value: unknown): OutputBlob {
  try {
    return readOutput(value);
  } catch (cause) {
    const message = isInput(value)
      ? `${name} is an input blob, not the output of a job, which is called ml_engine_… or nn_engine_…`
      : `${name}: ${(cause as TypeError).message}`;
    throw new MucastError("unreadable_blob", message, { source: name, ...NOT_AN_OUTPUT }, { cause });
  }
}

/** Whether a document has the members of an input blob. */
function isInput(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "schema" in value) return false;
  return "dates" in value && ("features" in value || "prices" in value);
}

/** A verdict of `mucast replay` or `mucast audit`, as it was written; its shape is not checked yet. */
export function readVerdict(location: string, reading: Reading) {
  return readJson(location, reading, VERDICT_BYTES);
}

interface ReadJson {
  readonly name: string;
  readonly sha256: string;
  readonly value: unknown;
}

async function readJson(
  location: string,
  { policy, signal, blobUrl }: Reading,
  maxBytes: number,
): Promise<ReadJson> {
  const options = { blobUrl, names: "output", limits: { maxBytes, maxStoredBytes: maxBytes } } as const;
  const blob = await openBlob(location, policy, { ...options, ...(signal === undefined ? {} : { signal }) });
  const value = await readValue(blob.name, blob.chunks);
  return { name: blob.name, sha256: blob.digest(), value };
}

async function readValue(name: string, chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const read = await readWholeJson(chunks, DOCUMENT_BYTES);
  if ("value" in read) return read.value;
  if ("fault" in read) {
    const message = `${name} is not a JSON document: ${read.fault}`;
    const advice = "Name a file that mucast has written. `mucast list` shows the outputs in a folder.";
    throw new MucastError("unreadable_blob", message, { source: name, advice });
  }
  const message = `${name} has more than ${DOCUMENT_BYTES} bytes, the most that an output may have here`;
  throw new MucastError("too_large", message, { source: name, limit: DOCUMENT_BYTES });
}
