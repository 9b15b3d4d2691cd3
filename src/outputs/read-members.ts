import { createReadStream } from "node:fs";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { JsonScanner } from "../ingest/json-scanner.ts";

/** A file on this machine. */
export function fileSource(path: string, name = path): ByteSource {
  return { name, chunks: createReadStream(path, { highWaterMark: 2 ** 20 }) };
}

/** The members of an object to read: whole (`true`), or only some of theirs. A function chooses by name, for example tickers. */
export type Wanted = { readonly [name: string]: boolean | Wanted } | ((name: string) => boolean | Wanted);

/**
 * Reads members of a JSON document of any size and skips the others, so that memory grows only with what is wanted.
 * @param into gets the members in the order of the document, so that a function of `wanted` may use earlier ones. Objects that are read in
 *   part have no prototype. Stays empty if the document is not an object.
 * @throws MucastError of the bytes.
 */
export async function readMembers<T extends object>(
  source: ByteSource,
  wanted: Wanted,
  signal?: AbortSignal,
  into = Object.create(null) as T,
): Promise<T> {
  const json = new JsonScanner(source, signal);
  try {
    if ((await json.next()) === "object") await fill(into as Record<string, unknown>, json, wanted);
    else await json.skip();
    await json.finish();
    return into;
  } finally {
    await json.close();
  }
}

async function fill(into: Record<string, unknown>, json: JsonScanner, wanted: Wanted): Promise<void> {
  for await (const name of json.keys()) {
    const choice = typeof wanted === "function" ? wanted(name) : Object.hasOwn(wanted, name) && wanted[name]!;
    if (choice === false) await json.skip();
    else if (choice === true || (await json.next()) !== "object") into[name] = (await json.piece()).value;
    else {
      const inner = Object.create(null) as Record<string, unknown>;
      into[name] = inner;
      await fill(inner, json, choice);
    }
  }
}

/** A member of a document that is no object; or, with `key`, a member of one that is. An object itself comes before its members, as `{}`. */
export interface Entry {
  readonly member: string;
  readonly key: string | undefined;
  readonly value: unknown;
  /** The JSON text of the value. */
  readonly text: string;
}

/**
 * The entries of a JSON document in its order, one at a time: memory grows with the largest one. None if the document is not an object.
 * @param wanted the members to read; all if it is absent.
 * @throws MucastError of the bytes; too_large for an entry of more than 64 MiB.
 */
export async function* entriesOf(
  source: ByteSource,
  signal?: AbortSignal,
  wanted?: (member: string) => boolean,
): AsyncGenerator<Entry, void, void> {
  const json = new JsonScanner(source, signal);
  try {
    if ((await json.next()) !== "object") await json.skip();
    else
      for await (const member of json.keys()) {
        if (wanted?.(member) === false) await json.skip();
        else if ((await json.next()) !== "object") yield { member, key: undefined, ...(await json.piece()) };
        else {
          yield { member, key: undefined, value: {}, text: "{}" };
          for await (const key of json.keys()) yield { member, key, ...(await json.piece(key)) };
        }
      }
    await json.finish();
  } finally {
    await json.close();
  }
}

/** What one of the parts by ticker has of a ticker. */
export interface TickerPart<N extends string> {
  readonly part: N;
  readonly ticker: string;
  readonly value: unknown;
}

/** What the named parts have of each ticker, one ticker at a time, in the order of the document. @throws MucastError like `entriesOf`. */
export async function* eachSeries<N extends string>(
  source: ByteSource,
  parts: readonly N[],
  signal?: AbortSignal,
): AsyncGenerator<TickerPart<N>, void, void> {
  const isWanted = (member: string) => (parts as readonly string[]).includes(member);
  for await (const { member, key, value } of entriesOf(source, signal, isWanted))
    if (key !== undefined) yield { part: member as N, ticker: key, value };
}
