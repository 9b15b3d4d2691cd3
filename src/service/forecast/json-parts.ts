import { type JsonReader, Token, type Waiting } from "../../ingest/json/json-reader.ts";

export type Scalar = string | number | boolean | null;

/**
 * Reads the next value, an object, member by member.
 * @param each reads the value of a key, or returns undefined to skip it.
 * @returns false where the value is no object; it is skipped.
 */
export function* eachMember(
  json: JsonReader,
  each: (key: string) => Waiting<unknown> | undefined,
): Waiting<boolean> {
  const depth = json.depth;
  const first = yield* json.take();
  if (first !== Token.objectStart) {
    if (first === Token.arrayStart) yield* json.skip(depth);
    return false;
  }
  for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
    const reading = each(json.text);
    if (reading === undefined) yield* json.skip();
    else yield* reading;
  }
  return true;
}

/** Reads the next value, a list. @param each reads one whole element. */
export function* eachElement(json: JsonReader, each: () => Waiting<unknown>): Waiting<void> {
  const depth = json.depth;
  const first = yield* json.take();
  if (first !== Token.arrayStart) {
    if (first === Token.objectStart) yield* json.skip(depth);
    return;
  }
  for (let token = yield* json.take(); token !== Token.arrayEnd; token = yield* json.take()) {
    json.unread(token);
    yield* each();
  }
}

/** Reads the next value; undefined for an object or a list, which is skipped. */
export function* scalar(json: JsonReader): Waiting<Scalar | undefined> {
  const depth = json.depth;
  const token = yield* json.take();
  if (token === Token.string) return json.text;
  if (token === Token.number) return Number.isNaN(json.number) ? null : json.number;
  if (token === Token.true || token === Token.false) return token === Token.true;
  if (token === Token.null) return null;
  yield* json.skip(depth);
  return undefined;
}

/** Reads an object of scalars, such as the metrics of a ticker, without members of other kinds. */
export function* scalars(json: JsonReader): Waiting<Record<string, Scalar> | null> {
  const found: [string, Scalar][] = [];
  const isObject = yield* eachMember(json, function* (key) {
    const value = yield* scalar(json);
    if (value !== undefined) found.push([key, value]);
  });
  return isObject ? Object.fromEntries(found) : null;
}
