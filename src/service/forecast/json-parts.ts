import { type JsonReader, Token, type Waiting } from "../../ingest/json/json-reader.ts";

export type Scalar = string | number | boolean | null;

/**
 * Reads the next value, an object, member by member.
 * @param each reads the value of a key, or returns undefined to skip it.
 * @returns false if the value is not an object; it is skipped.
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

/** The maximum that `readCompletely` reads: values of any kind, and characters of their texts and keys. */
export interface ValueBudget {
  values: number;
  letters: number;
}

/**
 * Reads the next value completely.
 * @returns undefined if it exceeds the budget, which decreases as it is read; the rest of it is skipped.
 */
export function* readCompletely(json: JsonReader, budget: ValueBudget): Waiting<unknown> {
  budget.values -= 1;
  const token = yield* json.take();
  json.unread(token);
  if (token === Token.objectStart) {
    const members: [string, unknown][] = [];
    yield* eachMember(json, (key) => {
      budget.letters -= key.length;
      if (isSpent(budget)) return undefined;
      return (function* () {
        members.push([key, yield* readCompletely(json, budget)]);
      })();
    });
    return isSpent(budget) ? undefined : Object.fromEntries(members);
  }
  if (token === Token.arrayStart) {
    const elements: unknown[] = [];
    yield* eachElement(json, function* () {
      if (isSpent(budget)) yield* json.skip();
      else elements.push(yield* readCompletely(json, budget));
    });
    return isSpent(budget) ? undefined : elements;
  }
  const value = yield* scalar(json);
  if (typeof value === "string") budget.letters -= value.length;
  return isSpent(budget) ? undefined : value;
}

function isSpent({ values, letters }: ValueBudget): boolean {
  return values < 0 || letters < 0;
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
