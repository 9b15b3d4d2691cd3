import { isRawNumber, type RawNumber } from "../../contract/json/json-text.ts";

/**
 * JSON text in which objects keep the order they were built in: a Map keeps its own order even for keys like `10`, which a JavaScript
 * object would move to the front, and holds `__proto__` as a plain key.
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
  | LaterJson;

/** Created when it is printed, so that the whole document is never in memory at once. */
type LaterJson = () => OrderedJson;

/**
 * Prints `value` piece by piece: the output of a thousand tickers can be longer than a string may be (2^29 - 24 characters), but
 * the output of one ticker never is. Each member of a Map, such as a ticker, is a separate piece, and so is each element of a
 * list, such as a warning, unless the list is inside such a piece. Numbers are printed in shortest round-trip form, and undefined
 * members are omitted.
 * @throws TypeError if a number is NaN or infinite: that is a defect of the caller, which null would hide.
 */
export function* orderedPieces(value: OrderedJson): Generator<string> {
  if (typeof value === "function") yield* orderedPieces(value());
  else if (holdsMap(value)) yield* memberPieces(membersOf(value));
  else if (Array.isArray(value) && value.length > 0) yield* elementPieces(value);
  else yield stringifyOrdered(value);
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

function* memberPieces(members: Iterable<[string, OrderedJson | undefined]>): Generator<string> {
  let mark = "{";
  for (const [key, member] of members) {
    if (member === undefined) continue;
    yield `${mark}${JSON.stringify(key)}:`;
    yield* orderedPieces(member);
    mark = ",";
  }
  yield mark === "{" ? "{}" : "}";
}

function* elementPieces(elements: readonly OrderedJson[]): Generator<string> {
  let mark = "[";
  for (const element of elements) {
    yield mark;
    yield* orderedPieces(element);
    mark = ",";
  }
  yield "]";
}

function stringifyOrdered(value: OrderedJson): string {
  if (typeof value === "function") return stringifyOrdered(value());
  if (typeof value === "number") return printNumber(value);
  if (value === null || typeof value !== "object" || isRawNumber(value)) return JSON.stringify(value);
  if (value instanceof Float64Array || Array.isArray(value))
    return printArray(value as ArrayLike<OrderedJson>);
  return printMembers(membersOf(value as ReadonlyMap<string, OrderedJson>));
}

type WithMembers = Extract<
  OrderedJson,
  ReadonlyMap<string, OrderedJson> | { readonly [key: string]: unknown }
>;

function hasMembers(value: OrderedJson): value is WithMembers {
  const isObject = value !== null && typeof value === "object" && !isRawNumber(value);
  return isObject && !Array.isArray(value) && !(value instanceof Float64Array);
}

/** Whether `value` is a Map, or has one inside its objects. */
function holdsMap(value: OrderedJson | undefined): value is WithMembers {
  if (value === undefined || !hasMembers(value)) return false;
  return value instanceof Map || Object.values(value).some(holdsMap);
}

function membersOf(value: WithMembers): Iterable<[string, OrderedJson | undefined]> {
  return value instanceof Map ? value : Object.entries(value as Record<string, OrderedJson | undefined>);
}

function printNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} cannot be written to the output`);
  return JSON.stringify(value);
}

function printArray(values: ArrayLike<OrderedJson>): string {
  // JSON.stringify prints a whole list faster than its numbers one by one, but would print NaN as null.
  if (values instanceof Float64Array && values.every(Number.isFinite))
    return JSON.stringify(Array.from(values));
  const parts = new Array<string>(values.length);
  for (let i = 0; i < values.length; i++) parts[i] = stringifyOrdered(values[i] as OrderedJson);
  return `[${parts.join(",")}]`;
}

function printMembers(members: Iterable<[string, OrderedJson | undefined]>): string {
  const parts: string[] = [];
  for (const [key, value] of members) {
    if (value !== undefined) parts.push(`${JSON.stringify(key)}:${stringifyOrdered(value)}`);
  }
  return `{${parts.join(",")}}`;
}
