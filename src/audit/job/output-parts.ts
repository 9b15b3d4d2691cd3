import { createReadStream } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Verdict, verdictSchema } from "../../contract/output/verdict.ts";
import { ByteWindow } from "../../ingest/json/byte-window.ts";
import { Doubles } from "../../ingest/json/doubles.ts";
import { JsonReader, Token, type Waiting } from "../../ingest/json/json-reader.ts";

/**
 * The dated parts of an output by ticker, in the order in which a job writes them. `mu_spread` is not among them: an output has it
 * only at `as_of`, so another as_of has nothing to compare it with.
 */
export const DATED_PARTS = ["mu", "mu_dates", "forecasts", "fits", "cross_validation", "training"] as const;
export type DatedPart = (typeof DATED_PARTS)[number];

/** A JSON value as `outputParts` reads it: an array of numbers and nulls becomes a float64 array, with null as NaN. */
export type ReadValue = null | boolean | string | number | Float64Array | readonly ReadValue[] | ReadObject;
export interface ReadObject {
  readonly [key: string]: ReadValue;
}

/** What an output has of one ticker in one part. */
export interface OutputPart {
  readonly part: DatedPart;
  readonly ticker: string;
  readonly value: ReadValue;
}

/**
 * The dated parts of an output on this machine, one ticker at a time in byte order: memory grows with the largest ticker. Relies on
 * the order in which every job writes: parts as in DATED_PARTS, tickers by code point.
 */
export function outputParts(path: string, signal: AbortSignal): AsyncGenerator<OutputPart> {
  return readOutput(path, readParts, signal);
}

/** What an output on this machine was made from, and how. */
interface OutputProvenance {
  /** SHA-256 of the blobs. */
  readonly feature: string;
  readonly dataExtractor: string;
  /** To which the kernels were pinned. */
  readonly kernelLevel: string | undefined;
}

export async function outputProvenance(path: string, signal: AbortSignal): Promise<OutputProvenance> {
  const provenances = readOutput(path, (json) => readMember(json, "provenance"), signal);
  for await (const value of provenances) {
    const provenance = value as ReadObject;
    return {
      feature: provenance.feature_sha256 as string,
      dataExtractor: provenance.data_extractor_sha256 as string,
      kernelLevel: (provenance.kernel_level as string | null) ?? undefined,
    };
  }
  throw new MucastError("internal", `${path} has no provenance`, { source: path });
}

/** The verdict of an output on this machine; undefined if it has none, as without labelled forecasts. */
export async function outputVerdict(path: string, signal: AbortSignal): Promise<Verdict | undefined> {
  for await (const verdict of readOutput(path, (json) => readMember(json, "verdict"), signal)) {
    return verdict === null ? undefined : verdictSchema.parse(verdict);
  }
  return undefined;
}

async function* readOutput<T>(
  path: string,
  read: (json: JsonReader) => Generator<T | undefined, void, void>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const bytes = new ByteWindow({ name: path, chunks: createReadStream(path) }, signal);
  const steps = read(new JsonReader(bytes));
  try {
    for (let step = steps.next(); step.done !== true; step = steps.next()) {
      if (step.value === undefined) await bytes.refill();
      else yield step.value;
    }
  } finally {
    await bytes.close();
  }
}

function* readParts(json: JsonReader): Generator<OutputPart | undefined, void, void> {
  yield* json.take();
  for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
    const part = DATED_PARTS.find((name) => name === json.text);
    if (part === undefined) {
      yield* json.skip();
      continue;
    }
    yield* json.take();
    for (let key = yield* json.take(); key !== Token.objectEnd; key = yield* json.take()) {
      const ticker = json.text;
      yield { part, ticker, value: yield* readValue(json) };
    }
  }
}

/** One member of the document. */
function* readMember(json: JsonReader, name: string): Generator<ReadValue | undefined, void, void> {
  yield* json.take();
  for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
    if (json.text === name) yield yield* readValue(json);
    else yield* json.skip();
  }
}

/** The first date of the block that each late ticker of an output joins, `YYYY-MM-DD`; empty without refits. */
export async function lateJoins(path: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const joins = new Map<string, string>();
  for await (const { ticker, date } of readOutput(path, readJoins, signal)) joins.set(ticker, date);
  return joins;
}

function* readJoins(json: JsonReader) {
  yield* json.take();
  for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
    if (json.text === "refits") yield* readJoinsOfRefits(json);
    else yield* json.skip();
  }
}

function* readJoinsOfRefits(json: JsonReader) {
  yield* json.take();
  for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
    if (json.text === "by_ticker") yield* readJoinsByTicker(json);
    else yield* json.skip();
  }
}

function* readJoinsByTicker(json: JsonReader) {
  yield* json.take();
  for (let key = yield* json.take(); key !== Token.objectEnd; key = yield* json.take()) {
    const ticker = json.text;
    const { joins } = (yield* readValue(json)) as ReadObject;
    if (typeof joins === "string") yield { ticker, date: joins };
  }
}

function* readValue(json: JsonReader): Waiting<ReadValue> {
  switch (yield* json.take()) {
    case Token.objectStart:
      return yield* readObject(json);
    case Token.arrayStart:
      return yield* readArray(json);
    case Token.string:
      return json.text;
    case Token.number:
      return json.number;
    case Token.true:
      return true;
    case Token.false:
      return false;
    default:
      return null;
  }
}

function* readObject(json: JsonReader): Waiting<ReadObject> {
  const members: [string, ReadValue][] = [];
  for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
    const key = json.text;
    members.push([key, yield* readValue(json)]);
  }
  return Object.fromEntries(members);
}

function* readArray(json: JsonReader): Waiting<Float64Array | readonly ReadValue[]> {
  const numbers = new Doubles(16);
  let token = json.numbers(numbers);
  while (token === Token.more) {
    yield;
    token = json.numbers(numbers);
  }
  if (token === Token.arrayEnd) return numbers.copy();
  const others: ReadValue[] = Array.from(numbers.view());
  for (token = yield* json.take(); token !== Token.arrayEnd; token = yield* json.take()) {
    json.unread(token);
    others.push(yield* readValue(json));
  }
  return others;
}
