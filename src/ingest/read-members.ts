import type { ByteSource } from "../contract/market/ticker-series.ts";
import { JsonScanner } from "./json-scanner.ts";

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

/** One member of an object that is a member of the document, such as what `forecasts` has of a ticker. */
export interface InnerMember<N extends string> {
  readonly part: N;
  readonly ticker: string;
  readonly value: unknown;
}

/** The members of the named objects of a JSON document, one at a time in its order. @throws MucastError of the bytes. */
export async function* eachTicker<N extends string>(
  source: ByteSource,
  parts: readonly N[],
  signal?: AbortSignal,
): AsyncGenerator<InnerMember<N>, void, void> {
  const json = new JsonScanner(source, signal);
  try {
    for await (const name of json.keys()) {
      const part = parts.find((wanted) => wanted === name);
      if (part === undefined) await json.skip();
      else
        for await (const ticker of json.keys())
          yield { part, ticker, value: (await json.piece(ticker)).value };
    }
    await json.finish();
  } finally {
    await json.close();
  }
}
