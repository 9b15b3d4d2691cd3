import { isRawNumber, type RawNumber } from "../../contract/json/json-text.ts";

/**
 * JSON text in which objects keep the order they were built in: a Map keeps its own order also for keys like `10`,
 * which a JavaScript object would move to the front, and holds `__proto__` as a plain key.
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

/** Made when it is printed, so that the whole document is never in memory at once. */
type LaterJson = () => OrderedJson;

/** Levels of objects whose members are pieces of their own: the document, and its parts, so that each ticker is a piece. */
const LEVELS_IN_PIECES = 2;

/**
 * Prints `value` piece by piece: the output of a thousand tickers can be longer than a string may be (2^29 - 24
 * characters), that of one ticker never is. Numbers are printed shortest round-trip, members that are undefined are left
 * out.
 * @throws TypeError where a number is NaN or infinite: that is a defect of the caller, and no null replaces it.
 */
export function* orderedPieces(value: OrderedJson, levels = LEVELS_IN_PIECES): Generator<string> {
  if (typeof value === "function") {
    yield* orderedPieces(value(), levels);
    return;
  }
  if (levels === 0 || !hasMembers(value)) {
    yield stringifyOrdered(value);
    return;
  }
  let mark = "{";
  for (const [key, member] of membersOf(value)) {
    if (member === undefined) continue;
    yield `${mark}${JSON.stringify(key)}:`;
    yield* orderedPieces(member, levels - 1);
    mark = ",";
  }
  yield mark === "{" ? "{}" : "}";
}

/** The text of `value` in one string. */
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

function membersOf(value: WithMembers): Iterable<[string, OrderedJson | undefined]> {
  return value instanceof Map ? value : Object.entries(value as Record<string, OrderedJson | undefined>);
}

function printNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} cannot stand in the output`);
  return JSON.stringify(value);
}

function printArray(values: ArrayLike<OrderedJson>): string {
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
