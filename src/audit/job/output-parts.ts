import { createReadStream } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";
import type { ByteSource } from "../../contract/market/ticker-series.ts";
import { choiceSchema, type OutputChoice } from "../../contract/output/choice.ts";
import { type Verdict, verdictSchema } from "../../contract/output/verdict.ts";
import { Doubles } from "../../ingest/json/doubles.ts";
import {
  byName,
  eachMember,
  member,
  members,
  readParts,
  scalar,
  streamParts,
} from "../../ingest/json/json-parts.ts";
import { type JsonReader, Token, type Waiting } from "../../ingest/json/json-reader.ts";

/**
 * The dated parts of an output by ticker, in the order in which a job writes them. `mu_spread` is not among them: an output has it
 * only at `as_of`, so another as_of has nothing to compare it with. Neither is `mu_model`, which is the last number of `model`.
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
  return streamParts(sourceOf(path), readDatedParts, signal);
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
  const wanted = members({ feature_sha256: scalar, data_extractor_sha256: scalar, kernel_level: scalar });
  const provenance = await readParts(sourceOf(path), member("provenance", wanted), signal);
  if (!provenance) throw new MucastError("internal", `${path} has no provenance`, { source: path });
  return {
    feature: provenance.feature_sha256 as string,
    dataExtractor: provenance.data_extractor_sha256 as string,
    kernelLevel: (provenance.kernel_level as string | null | undefined) ?? undefined,
  };
}

/** The verdict of an output on this machine; undefined if it has none, as without labelled forecasts. */
export async function outputVerdict(path: string, signal: AbortSignal): Promise<Verdict | undefined> {
  const verdict = await readParts(sourceOf(path), member("verdict", readValue), signal);
  return verdict === null || verdict === undefined ? undefined : verdictSchema.parse(verdict);
}

/** The choice among candidates of an output on this machine; undefined without one. */
export async function outputChoice(path: string, signal: AbortSignal): Promise<OutputChoice | undefined> {
  const choice = await readParts(sourceOf(path), member("choice", readValue), signal);
  return choice === null || choice === undefined ? undefined : choiceSchema.parse(withNulls(choice));
}

function withNulls(value: ReadValue): unknown {
  if (value instanceof Float64Array) return Array.from(value, (each) => (Number.isNaN(each) ? null : each));
  if (Array.isArray(value)) return value.map(withNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withNulls(each)]));
}

/** The first date of the block that each late ticker of an output joins, `YYYY-MM-DD`; empty without refits. */
export async function lateJoins(path: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const wanted = members({ refits: members({ by_ticker: byName(members({ joins: scalar })) }) });
  const found = await readParts(sourceOf(path), wanted, signal);
  const joins = [...(found?.refits?.by_ticker ?? [])].flatMap(([ticker, refits]) =>
    typeof refits?.joins === "string" ? [[ticker, refits.joins] as const] : [],
  );
  return new Map(joins);
}

function sourceOf(path: string): ByteSource {
  return { name: path, chunks: createReadStream(path) };
}

function* readDatedParts(json: JsonReader): Generator<OutputPart | undefined, void, void> {
  yield* eachMember(json, (name) => {
    const part = DATED_PARTS.find((dated) => dated === name);
    if (part === undefined) return undefined;
    return eachMember<OutputPart | undefined>(json, function* (ticker) {
      yield { part, ticker, value: yield* readValue(json) };
    });
  });
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
