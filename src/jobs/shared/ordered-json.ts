import { isRawNumber, type RawNumber } from "../../contract/json/json-text.ts";

/**
 * JSON text in which objects keep the order they were built in: a Map keeps its own order even for keys like `10`, which a JavaScript
 * object would move to the front, and holds `__proto__` as a plain key. A function is called when its value is printed, so that the whole
 * document is never in memory at once.
 */
export type OrderedJson =
  | null
  | boolean
  | number
  | string
  | RawNumber
  | readonly OrderedJson[]
  | Float64Array
  | ReadonlyMap<string, OrderedJson>
  | { readonly [key: string]: OrderedJson | undefined }
  | (() => OrderedJson);

/**
 * Prints `value` piece by piece: the output of a thousand tickers can be longer than a string may be (2^29 - 24 characters), but
 * the output of one ticker never is. Each member of a Map, such as a ticker, is a separate piece, and so is each element of a
 * list, such as a warning, unless the list is inside such a piece. Numbers are printed in shortest round-trip form, and undefined
 * members are omitted.
 * @throws TypeError if a number is NaN or infinite, or a Map is inside a list of such a piece: defects of the caller, which null would hide.
 */
export function* orderedPieces(value: OrderedJson): Generator<string> {
  if (typeof value === "function") yield* orderedPieces(value());
  else if (Array.isArray(value) && value.length > 0) {
    for (const [i, element] of value.entries()) {
      yield i === 0 ? "[" : ",";
      yield* orderedPieces(element);
    }
    yield "]";
  } else if (holdsMap(value)) {
    let mark = "{";
    for (const [key, member] of value instanceof Map ? value : Object.entries(value)) {
      if (member === undefined) continue;
      yield `${mark}${JSON.stringify(key)}:`;
      yield* orderedPieces(member);
      mark = ",";
    }
    yield mark === "{" ? "{}" : "}";
  } else yield JSON.stringify(value, plainJson);
}

type Members = ReadonlyMap<string, OrderedJson> | { readonly [key: string]: OrderedJson | undefined };

/** Whether `value` is a Map, or has one inside its objects. */
function holdsMap(value: OrderedJson | undefined): value is Members {
  if (value instanceof Map) return true;
  if (typeof value !== "object" || value === null || isRawNumber(value)) return false;
  return !Array.isArray(value) && !(value instanceof Float64Array) && Object.values(value).some(holdsMap);
}

/** A replacer of JSON.stringify. */
function plainJson(_key: string, value: OrderedJson): unknown {
  if (typeof value === "function") return plainJson(_key, value());
  if (value instanceof Float64Array) return Array.from(value);
  if (value instanceof Map || (typeof value === "number" && !Number.isFinite(value)))
    throw new TypeError(`${value} cannot be written to the output`);
  return value;
}

/** In characters: writing this many takes hardly longer than writing a few. */
const JOINED = 2 ** 16;

/**
 * Joins neighbouring pieces to pieces of at most `most` characters. A longer piece stays alone, because two may exceed the maximum length
 * of a string.
 */
export function* joinedPieces(pieces: Iterable<string>, most = JOINED): Generator<string> {
  let held = "";
  for (const piece of pieces) {
    if (held.length + piece.length <= most) {
      held += piece;
      continue;
    }
    if (held !== "") yield held;
    held = piece;
  }
  if (held !== "") yield held;
}
