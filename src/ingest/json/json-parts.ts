import { Turns } from "../../contract/machine/pausable.ts";
import type { ByteSource } from "../../contract/market/ticker-series.ts";
import { ByteWindow } from "./byte-window.ts";
import { JsonReader, Token, type Waiting } from "./json-reader.ts";

/**
 * Reads parts of a JSON document of any size: a reading names what it keeps, and everything else is skipped. Memory grows only with what
 * is kept.
 */

/** Reads the next value, whatever it is, to its end. Undefined stands for a value that is not kept. */
export type Read<T> = (json: JsonReader) => Waiting<T>;

/** A reading that may give values before it returns. */
type Reading<Y, T> = Generator<Y | undefined, T, void>;

export async function* streamParts<Y, T>(
  source: ByteSource,
  read: (json: JsonReader) => Reading<Y, T>,
  signal?: AbortSignal,
): AsyncGenerator<Y, T, void> {
  const bytes = new ByteWindow(source, signal);
  return yield* runSteps(bytes, read(new JsonReader(bytes)), signal);
}

/** The same for a reading that yields nothing. */
export async function readParts<T>(source: ByteSource, read: Read<T>, signal?: AbortSignal): Promise<T> {
  const { value } = await streamParts<never, T>(source, read, signal).next();
  return value;
}

/** Runs the steps of a reading turn by turn, and then closes the window. @param steps yield undefined if they need more bytes. */
export async function* runSteps<Y, T>(
  window: ByteWindow,
  steps: Reading<Y, T>,
  signal?: AbortSignal,
): AsyncGenerator<Y, T, void> {
  const turns = new Turns(signal);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (step.value === undefined) await window.refill();
      if (turns.isOver) await turns.pause();
      if (step.value !== undefined) yield step.value;
    }
  } finally {
    await window.close();
  }
}

/**
 * Reads the next value, an object, member by member.
 * @param each reads the value of a key, or returns undefined to skip it.
 * @returns false if the value is not an object; it is skipped.
 */
export function* eachMember<Y = undefined>(
  json: JsonReader,
  each: (key: string) => Reading<Y, unknown> | undefined,
): Reading<Y, boolean> {
  const first = yield* json.take();
  if (first !== Token.objectStart) {
    if (first === Token.arrayStart) yield* json.skip(json.depth - 1);
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
  const first = yield* json.take();
  if (first !== Token.arrayStart) {
    if (first === Token.objectStart) yield* json.skip(json.depth - 1);
    return;
  }
  for (let token = yield* json.take(); token !== Token.arrayEnd; token = yield* json.take()) {
    json.unread(token);
    yield* each();
  }
}

/** Reads one member of the next value, an object, and nothing after it; undefined if there is none. */
export function member<T>(name: string, read: Read<T>): Read<T | undefined> {
  return function* (json) {
    if ((yield* json.take()) !== Token.objectStart) return undefined;
    for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
      if (json.text === name) return yield* read(json);
      yield* json.skip();
    }
    return undefined;
  };
}

type Members = Readonly<Record<string, Read<unknown>>>;
type MembersOf<S extends Members> = {
  readonly [K in keyof S]?: S[K] extends Read<infer T> ? Exclude<T, undefined> : never;
};

/** Reads an object with these members, and skips others; null if the value is not an object. */
export function members<S extends Members>(shape: S): Read<MembersOf<S> | null> {
  return (json) => keptMembers(json, (key) => (Object.hasOwn(shape, key) ? shape[key] : undefined));
}

/** Reads an object of scalars, such as the metrics of a ticker. @param nested readings of members that are none; others are left out. */
export function scalarsAnd<S extends Members>(
  nested: S,
): Read<(Record<string, Scalar> & MembersOf<S>) | null> {
  return (json) => keptMembers(json, (key) => (Object.hasOwn(nested, key) ? nested[key] : scalar));
}

export const scalars: Read<Record<string, Scalar> | null> = scalarsAnd({});

function* keptMembers<T>(
  json: JsonReader,
  readOf: (key: string) => Read<unknown> | undefined,
): Waiting<T | null> {
  const kept: [string, unknown][] = [];
  const isObject = yield* eachMember(json, (key) => {
    const read = readOf(key);
    return read && keep(json, read, (value) => kept.push([key, value]));
  });
  return isObject ? (Object.fromEntries(kept) as T) : null;
}

function* keep<T>(
  json: JsonReader,
  read: Read<T>,
  onValue: (value: Exclude<T, undefined>) => void,
): Waiting<void> {
  const value = yield* read(json);
  if (value !== undefined) onValue(value as Exclude<T, undefined>);
}

/** Reads an object whose keys are names, such as tickers; empty if the value is not an object. */
export function byName<T>(
  read: Read<T>,
  isWanted: (name: string) => boolean = () => true,
): Read<Map<string, Exclude<T, undefined>>> {
  return function* (json) {
    const found = new Map<string, Exclude<T, undefined>>();
    yield* eachMember(json, (name) =>
      isWanted(name) ? keep(json, read, (value) => found.set(name, value)) : undefined,
    );
    return found;
  };
}

export function last<T>(read: Read<T>): Read<T | undefined> {
  return function* (json) {
    let found: T | undefined;
    yield* eachElement(json, () => keep(json, read, (value) => (found = value)));
    return found;
  };
}

export type Scalar = string | number | boolean | null;

/** Reads the next value; undefined for an object or a list, which is skipped. */
export function* scalar(json: JsonReader): Waiting<Scalar | undefined> {
  const token = yield* json.take();
  if (token === Token.string) return json.text;
  if (token === Token.number) return Number.isNaN(json.number) ? null : json.number;
  if (token === Token.true || token === Token.false) return token === Token.true;
  if (token === Token.null) return null;
  yield* json.skip(json.depth - 1);
  return undefined;
}

/** The maximum that `completely` reads: values of any kind, and characters of their texts and keys. */
export interface ValueBudget {
  readonly values: number;
  readonly letters: number;
}

/** Reads a value completely; undefined if it exceeds the budget. */
export function completely(budget: ValueBudget): Read<unknown> {
  return (json) => within({ ...budget }, json);
}

/** @param left decreases as the value is read. */
function* within(left: { values: number; letters: number }, json: JsonReader): Waiting<unknown> {
  left.values -= 1;
  const isSpent = () => left.values < 0 || left.letters < 0;
  const token = yield* json.take();
  json.unread(token);
  if (token === Token.objectStart) {
    const found = yield* keptMembers(json, (key) => {
      left.letters -= key.length;
      return isSpent() ? undefined : (inner) => within(left, inner);
    });
    return isSpent() ? undefined : found;
  }
  if (token === Token.arrayStart) {
    const elements: unknown[] = [];
    yield* eachElement(json, function* () {
      const element = yield* isSpent() ? scalar(json) : within(left, json);
      if (!isSpent()) elements.push(element);
    });
    return isSpent() ? undefined : elements;
  }
  const value = yield* scalar(json);
  if (typeof value === "string") left.letters -= value.length;
  return isSpent() ? undefined : value;
}
