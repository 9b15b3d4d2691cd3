import { MucastError } from "../contract/errors/errors.ts";
import { printable } from "../contract/errors/wording.ts";

/** The position of a fault in a blob. */
export interface Position {
  /** The blob's name in errors. */
  readonly source: string;
  readonly ticker?: string;
  /** Path inside the document, such as `AAPL.mom_5[17]`. */
  readonly path?: string;
}

/** The error for bytes that are not JSON. @param what a clause without full stop. */
export function unreadable(source: string, what: string, advice?: string): MucastError {
  return new MucastError("unreadable_blob", `${source}: ${what}.`, { source, advice });
}

/** The error for a document without usable data at `position`. @param what a clause without full stop. */
export function invalid(position: Position, what: string, advice?: string): MucastError {
  return new MucastError("invalid_data", describe(position, what), { ...position, advice });
}

/** The advice on a document that is no blob. */
export const NOT_A_BLOB =
  "Give the blob that `mucast prepare` writes from a table of prices, or one in a layout of docs/blobs.md.";

export function tooLarge(position: Position, what: string): MucastError {
  return new MucastError("too_large", describe(position, what), { ...position });
}

function describe({ source, ticker, path }: Position, what: string): string {
  const subject = path ?? (ticker === undefined ? undefined : quote(ticker));
  return `${source}: ${subject === undefined ? what : `${subject} ${what}`}.`;
}

const MAX_QUOTE_LENGTH = 60;

/** `text` in quotes, shortened so that a name of a megabyte does not fill a log. JSON itself leaves control characters from U+007F on. */
export function quote(text: string): string {
  const short = text.length > MAX_QUOTE_LENGTH ? `${text.slice(0, MAX_QUOTE_LENGTH)}…` : text;
  return printable(JSON.stringify(short));
}

/** The path of a cell in errors. */
export function pathOf(ticker: string, ...keys: readonly (string | number)[]): string {
  const first = /^[^\s"[\]\p{C}]{1,60}$/u.test(ticker) ? ticker : quote(ticker);
  return keys.reduce<string>((path, key) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return /^[A-Za-z_$][\w$-]{0,59}$/.test(key) ? `${path}.${key}` : `${path}[${quote(key)}]`;
  }, first);
}

/** The kind of a JSON value in errors. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return "a string";
  return typeof value === "number" ? "a number" : "true or false";
}
