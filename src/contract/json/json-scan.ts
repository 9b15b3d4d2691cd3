import { type Fault, MucastError } from "../errors/errors.ts";

/**
 * One strict pass over JSON text (RFC 8259). It finds what JSON.parse does not report: duplicate keys, the line and column of a fault,
 * numbers beyond float64.
 * @param root prefix of paths.
 * @param deepest maximum depth of arrays and objects.
 * @param members if the value is an object, receives the text of each of its values by key, byte for byte; for a key that occurs twice, the
 *   last one. @returns a fault for every key that its object already has. @throws MucastError `invalid_request` at the first fault of
 *   syntax; lines and columns count from 1, columns in UTF-16 units.
 */
export function scanJson(
  text: string,
  root: string,
  deepest: number,
  members = new Map<string, string>(),
): Fault[] {
  const scanner: Scanner = { text, at: 0, root, deepest, members, duplicates: [] };
  skipSpace(scanner);
  scanValue(scanner, root, 0);
  if (scanner.at < text.length) fail(scanner, "text after the end of the value");
  return scanner.duplicates;
}

/** In UTF-16 units. A long key with thousands of duplicates below it would fill the memory with their paths. */
const MAX_PATH_LENGTH = 400;

interface Scanner {
  readonly text: string;
  at: number;
  readonly root: string;
  readonly deepest: number;
  readonly members: Map<string, string>;
  readonly duplicates: Fault[];
}

const SPACE = /[ \t\n\r]*/y;
// All characters from the space on, except the quote and the backslash; control characters must be escaped.
const PLAIN = /[ !#-[\]-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[+-]?[A-Za-z]+/y;

function scanValue(scanner: Scanner, path: string, depth: number): void {
  const start = scanner.text[scanner.at];
  if (start === "{" || start === "[") {
    if (depth >= scanner.deepest) fail(scanner, `more than ${scanner.deepest} levels inside one another`);
    if (start === "{") scanObject(scanner, path, depth);
    else scanArray(scanner, path, depth);
  } else if (start === '"') scanString(scanner);
  else scanNumberOrWord(scanner);
  skipSpace(scanner);
}

function scanObject(scanner: Scanner, path: string, depth: number): void {
  const seen = new Set<string>();
  step(scanner);
  if (accept(scanner, "}")) return;
  do {
    skipSpace(scanner);
    if (scanner.text[scanner.at] !== '"') fail(scanner, "a key in double quotes is expected here");
    const key = scanString(scanner);
    const below = `${path}.${key}`.slice(0, MAX_PATH_LENGTH);
    if (seen.has(key))
      scanner.duplicates.push({ path: below, message: `${below} appears twice; keep one of them` });
    seen.add(key);
    skipSpace(scanner);
    if (!accept(scanner, ":")) fail(scanner, "a colon is expected after the key");
    const start = scanner.at;
    scanValue(scanner, below, depth + 1);
    if (depth === 0) scanner.members.set(key, scanner.text.slice(start, scanner.at).trimEnd());
  } while (accept(scanner, ","));
  if (!accept(scanner, "}", false)) fail(scanner, "a comma or a closing brace is expected here");
}

function scanArray(scanner: Scanner, path: string, depth: number): void {
  step(scanner);
  if (accept(scanner, "]", false)) return;
  let index = 0;
  do scanValue(scanner, `${path}[${index++}]`, depth + 1);
  while (accept(scanner, ","));
  if (!accept(scanner, "]", false)) fail(scanner, "a comma or a closing bracket is expected here");
}

function scanString(scanner: Scanner): string {
  const start = scanner.at;
  scanner.at += 1;
  // Not a single pattern for the whole string: a long one would exhaust the matcher's stack.
  do match(scanner, PLAIN);
  while (match(scanner, ESCAPE) !== undefined);
  if (accept(scanner, '"', false)) return JSON.parse(scanner.text.slice(start, scanner.at)) as string;
  scanner.at = start;
  return fail(scanner, "a string that is not closed, or contains a bad escape or a raw line break");
}

function scanNumberOrWord(scanner: Scanner): void {
  const number = match(scanner, NUMBER);
  if (number !== undefined) {
    if (Number.isFinite(Number(number))) return;
    scanner.at -= number.length;
    fail(scanner, `the number ${number.slice(0, 40)} is beyond the range of a float64`);
  }
  const start = scanner.at;
  const word = match(scanner, WORD);
  if (word === "true" || word === "false" || word === "null") return;
  scanner.at = start;
  if (word !== undefined && /^[+-]?(nan|inf|infinity)$/i.test(word))
    fail(scanner, `${word} is not JSON and no parameter accepts it; omit the key or write a finite number`);
  if (word !== undefined)
    fail(scanner, `${word.slice(0, 40)} is not a JSON value; put text in double quotes`);
  fail(scanner, start >= scanner.text.length ? "the text ends too early" : "a JSON value is expected here");
}

function match(scanner: Scanner, pattern: RegExp): string | undefined {
  pattern.lastIndex = scanner.at;
  const found = pattern.exec(scanner.text)?.[0];
  if (found !== undefined) scanner.at += found.length;
  return found;
}

function skipSpace(scanner: Scanner): void {
  match(scanner, SPACE);
}

/** Consumes one bracket and the space after it. */
function step(scanner: Scanner): void {
  scanner.at += 1;
  skipSpace(scanner);
}

/** Consumes `mark` if it is next, and the space after it unless `mark` ends a value. */
function accept(scanner: Scanner, mark: string, withSpace = true): boolean {
  if (scanner.text[scanner.at] !== mark) return false;
  scanner.at += 1;
  if (withSpace) skipSpace(scanner);
  return true;
}

function fail(scanner: Scanner, reason: string): never {
  const before = scanner.text.slice(0, scanner.at);
  const line = before.split("\n").length;
  const column = scanner.at - before.lastIndexOf("\n");
  const message = `${scanner.root} is not valid JSON at line ${line}, column ${column}: ${reason}`;
  throw new MucastError("invalid_request", message, {
    path: scanner.root,
    line,
    column,
    faults: [{ path: scanner.root, message }],
  });
}
