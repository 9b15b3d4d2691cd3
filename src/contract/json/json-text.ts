import { type Fault, MucastError } from "../errors/errors.ts";

/**
 * Reads JSON that people wrote, strictly, without losing the text of its numbers. Python distinguishes `1` from `1.0` and keeps integers
 * over 2^53 exact; a JavaScript number does neither. So the text is parsed into plain values to check, and into a parallel tree to pass on,
 * in which every number is the caller's own text (`JSON.rawJSON`), which `JSON.stringify` prints unchanged.
 */

/** proposal-json-parse-with-source: in Node since 21; TypeScript's library does not declare it yet. */
interface JsonWithSource {
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
}

const json = JSON as unknown as JsonWithSource;

export interface RawNumber {
  readonly rawJSON: string;
}

/** A JSON value whose numbers may be the caller's own text. */
export type RawJson = null | boolean | string | number | RawNumber | readonly RawJson[] | RawObject;
export interface RawObject {
  readonly [key: string]: RawJson;
}

/** Maximum depth of arrays and objects: more than any config needs, and little enough for every stack. */
export const MAX_JSON_DEPTH = 64;

/**
 * Plain values of JSON text, as JSON.parse returns them (`__proto__` is a key like any other). @param root prefix of error paths.
 * @throws MucastError `invalid_request`: broken JSON with its line and column, duplicate keys (each with its path), NaN, Infinity or a
 * number beyond float64, or more than MAX_JSON_DEPTH levels.
 */
export function parseJson(text: string, root = "config"): unknown {
  return JSON.parse(withoutDuplicates(text, root));
}

/**
 * The tree of `parseJson` with every number as its own text, so that `JSON.stringify` prints what the caller wrote:
 * `1.0`, `1e3`, `-0.0` and `9007199254740993` stay as they are. @throws MucastError like parseJson.
 */
export function rawNumbers(text: string, root = "config"): unknown {
  return rawNumbersOf(withoutDuplicates(text, root));
}

/** The tree of `rawNumbers` for a text that a scan has found to be JSON; for a key that occurs twice, the last one counts. */
export function rawNumbersOf(scanned: string): unknown {
  return json.parse(scanned, (_key, value, context) =>
    typeof value === "number" ? json.rawJSON(context.source!) : value,
  );
}

export const isRawNumber = json.isRawJSON;

/** A number that JSON.stringify prints as `text`, to add to a `rawNumbers` tree. */
export const rawNumber = json.rawJSON;

export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function withoutDuplicates(text: string, root: string): string {
  const body = withoutByteOrderMark(text);
  const faults = scanJson(body, root, MAX_JSON_DEPTH);
  if (faults.length === 0) return body;
  const names = faults.map(({ path }) => path);
  const message = `A key appears twice in one object: ${names.join(", ")}`;
  throw new MucastError("invalid_request", message, { path: names[0], faults });
}

/**
 * A canonical text, equal for all JSON texts of one value: keys sorted by UTF-16 units, no white space, the escapes of JSON.stringify.
 * Numbers keep the caller's text, because to the libraries `1` is not `1.0`. @param value a tree of `rawNumbers`.
 */
export function canonicalJson(value: unknown): string {
  if (isRawNumber(value) || typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, held]) => `${JSON.stringify(key)}:${canonicalJson(held)}`).join(",")}}`;
}

/** The texts of an object's values by key, byte for byte; for a key that occurs twice, the last one. @param text JSON. */
export function membersOf(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  scanJson(withoutByteOrderMark(text), "config", MAX_JSON_DEPTH, members);
  return members;
}

/** In UTF-16 units. A long key with thousands of duplicates below it would fill the memory with their paths. */
const MAX_PATH_LENGTH = 400;

const SPACE = /[ \t\n\r]*/y;
/** Pieces of a string, since a pattern for all of a long one would exhaust the matcher's stack. Control characters must be escaped. */
const STRING_PIECE = /[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[+-]?[A-Za-z]+/y;

/**
 * One strict pass over JSON text (RFC 8259). It finds what JSON.parse does not report: duplicate keys, the line and column of a fault,
 * numbers beyond float64.
 * @param root prefix of paths. @param members receives what `membersOf` returns.
 * @returns a fault for every key that its object already has.
 * @throws MucastError `invalid_request` at the first fault of syntax; lines and columns count from 1, columns in UTF-16 units.
 */
export function scanJson(
  text: string,
  root: string,
  deepest: number,
  members = new Map<string, string>(),
): Fault[] {
  const duplicates: Fault[] = [];
  let at = 0;

  function scanValue(path: string, depth: number): void {
    match(SPACE);
    const isObject = text[at] === "{";
    if (text[at] === '"') scanString();
    else if (!isObject && text[at] !== "[") scanNumberOrWord();
    else if (depth >= deepest) fail(`more than ${deepest} levels inside one another`);
    else {
      at += 1;
      if (!accept(isObject ? "}" : "]")) (isObject ? scanObject : scanArray)(path, depth + 1);
    }
  }

  function scanObject(path: string, depth: number): void {
    const seen = new Set<string>();
    do {
      match(SPACE);
      if (text[at] !== '"') fail("a key in double quotes is expected here");
      const key = scanString();
      const below = `${path}.${key}`.slice(0, MAX_PATH_LENGTH);
      const message = `${below} appears twice; keep one of them`;
      if (seen.has(key)) duplicates.push({ path: below, message });
      seen.add(key);
      if (!accept(":")) fail("a colon is expected after the key");
      match(SPACE);
      const start = at;
      scanValue(below, depth);
      if (depth === 1) members.set(key, text.slice(start, at));
    } while (accept(","));
    if (!accept("}")) fail("a comma or a closing brace is expected here");
  }

  function scanArray(path: string, depth: number): void {
    let index = 0;
    do scanValue(`${path}[${index++}]`, depth);
    while (accept(","));
    if (!accept("]")) fail("a comma or a closing bracket is expected here");
  }

  function scanString(): string {
    const start = at++;
    while (match(STRING_PIECE) !== "");
    if (text[at++] === '"') return JSON.parse(text.slice(start, at)) as string;
    at = start;
    return fail("a string that is not closed, or contains a bad escape or a raw line break");
  }

  function scanNumberOrWord(): void {
    const start = at;
    const number = match(NUMBER);
    if (number !== "" && Number.isFinite(Number(number))) return;
    const word = match(WORD);
    if (number === "" && ["true", "false", "null"].includes(word)) return;
    at = start;
    if (number !== "") fail(`the number ${number.slice(0, 40)} is beyond the range of a float64`);
    if (/^[+-]?(nan|inf|infinity)$/i.test(word))
      fail(`${word} is not JSON and no parameter accepts it; omit the key or write a finite number`);
    if (word !== "") fail(`${word.slice(0, 40)} is not a JSON value; put text in double quotes`);
    fail(start >= text.length ? "the text ends too early" : "a JSON value is expected here");
  }

  function match(pattern: RegExp): string {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    at += found.length;
    return found;
  }

  function accept(mark: string): boolean {
    match(SPACE);
    if (text[at] !== mark) return false;
    at += 1;
    return true;
  }

  function fail(reason: string): never {
    const before = text.slice(0, at);
    const line = before.split("\n").length;
    const column = at - before.lastIndexOf("\n");
    const message = `${root} is not valid JSON at line ${line}, column ${column}: ${reason}`;
    const data = { path: root, line, column, faults: [{ path: root, message }] };
    throw new MucastError("invalid_request", message, data);
  }

  scanValue(root, 0);
  match(SPACE);
  if (at < text.length) fail("text after the end of the value");
  return duplicates;
}

/**
 * Reads a whole JSON document of at most `maxBytes`.
 * @returns its value, or why it cannot be read: the message of the parser, or that it is too large. @throws errors of `chunks`.
 */
export async function readWholeJson(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<{ readonly value: unknown } | { readonly fault: string } | { readonly isTooLarge: true }> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of chunks) {
    bytes += piece.length;
    if (bytes > maxBytes) return { isTooLarge: true };
    pieces.push(piece);
  }
  try {
    return { value: JSON.parse(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).text()) };
  } catch (error) {
    return { fault: (error as SyntaxError).message };
  }
}
