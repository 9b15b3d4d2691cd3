import { type Fault, MucastError } from "../errors/errors.ts";
import { scanJson } from "./json-scan.ts";

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

/** A number as the caller wrote it. */
export interface RawNumber {
  readonly rawJSON: string;
}

/** A JSON value whose numbers may be the caller's own text. */
export type RawJson = null | boolean | string | number | RawNumber | readonly RawJson[] | RawObject;
export interface RawObject {
  readonly [key: string]: RawJson;
}

const json = JSON as unknown as JsonWithSource;

/** Maximum depth of arrays and objects: more than any config needs, and little enough for every stack. */
export const MAX_JSON_DEPTH = 64;

/**
 * Plain values of JSON text, as JSON.parse returns them (`__proto__` is a key like any other), except that a key that occurs twice in one
 * object, one of which JSON.parse would drop, is an error.
 *
 * @param root prefix of error paths, such as `config`.
 * @throws MucastError `invalid_request`: broken JSON with its line and column, duplicate keys (each with its path),
 *   NaN, Infinity or a number beyond float64, or more than MAX_JSON_DEPTH levels.
 */
export function parseJson(text: string, root = "config"): unknown {
  const body = withoutByteOrderMark(text);
  refuseDuplicates(scanJson(body, root, MAX_JSON_DEPTH), root);
  return JSON.parse(body);
}

/**
 * The tree of `parseJson` with every number as its own text, so that `JSON.stringify` prints what the caller wrote:
 * `1.0`, `1e3`, `-0.0` and `9007199254740993` stay as they are.
 *
 * @throws MucastError like parseJson.
 */
export function rawNumbers(text: string, root = "config"): unknown {
  const body = withoutByteOrderMark(text);
  refuseDuplicates(scanJson(body, root, MAX_JSON_DEPTH), root);
  return rawNumbersOf(body);
}

/** The tree of `rawNumbers` for a text that a scan has found to be JSON; for a key that occurs twice, the last one counts. */
export function rawNumbersOf(scanned: string): unknown {
  return json.parse(scanned, (_key, value, context) =>
    typeof value === "number" ? json.rawJSON(context.source!) : value,
  );
}

/** Whether a value of a `rawNumbers` tree is a number's text. */
export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value);
}

/** A number that JSON.stringify prints as `text`, to add to a `rawNumbers` tree. */
export function rawNumber(text: string): RawNumber {
  return json.rawJSON(text);
}

export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function refuseDuplicates(duplicates: readonly Fault[], root: string): void {
  if (duplicates.length === 0) return;
  const names = duplicates.map((fault) => fault.path).join(", ");
  throw new MucastError("invalid_request", `A key appears twice in one object: ${names}`, {
    path: duplicates[0]?.path ?? root,
    faults: duplicates,
  });
}

/**
 * A canonical text, equal for all JSON texts of one value: keys sorted by UTF-16 units, no white space, the escapes of JSON.stringify.
 * Numbers keep the caller's text, because to the libraries `1` is not `1.0`.
 *
 * @param value a tree of `rawNumbers`, at most MAX_JSON_DEPTH levels and a few more.
 */
export function canonicalJson(value: unknown): string {
  if (isRawNumber(value) || typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, held]) => `${JSON.stringify(key)}:${canonicalJson(held)}`).join(",")}}`;
}
