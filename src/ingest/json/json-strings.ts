import { isUtf8 } from "node:buffer";

const BACKSLASH = 92;
const LOWER_U = 117;
/** " \ / b f n r t */
const SIMPLE_ESCAPES = new Set([34, 92, 47, 98, 102, 110, 114, 116]);
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A fault inside a string: its index in the bytes, and a clause for the message. */
interface TextFault {
  readonly at: number;
  readonly what: string;
}

/**
 * Checks the inside of a JSON string, bytes [start, end): its escapes and its UTF-8, which the scan for its end does not check.
 * @returns undefined if there is no fault.
 */
export function checkText(bytes: Uint8Array, start: number, end: number): TextFault | undefined {
  const badEscape = brokenEscape(bytes, start, end);
  if (badEscape !== undefined)
    return { at: badEscape, what: "a string contains an escape that JSON does not have" };
  if (isUtf8(bytes.subarray(start, end))) return undefined;
  return { at: brokenUtf8(bytes, start, end), what: "a string contains bytes that are not UTF-8" };
}

/** The string of checked bytes [start, end). @returns undefined if an escape is half a surrogate pair. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string | undefined {
  const raw = decoder.decode(bytes.subarray(start, end));
  if (!raw.includes("\\")) return raw;
  const text = JSON.parse(`"${raw}"`) as string;
  return text.isWellFormed() ? text : undefined;
}

function brokenEscape(bytes: Uint8Array, start: number, end: number): number | undefined {
  for (let p = start; p < end; p++) {
    if (bytes[p] !== BACKSLASH) continue;
    const escaped = bytes[p + 1]!;
    if (escaped === LOWER_U ? !fourHexDigits(bytes, p + 2, end) : !SIMPLE_ESCAPES.has(escaped)) return p;
    p++;
  }
  return undefined;
}

function fourHexDigits(bytes: Uint8Array, start: number, end: number): boolean {
  if (start + 4 > end) return false;
  for (let p = start; p < start + 4; p++) {
    const c = bytes[p]!;
    const isDigit = c >= 48 && c <= 57;
    const isLetter = (c | 32) >= 97 && (c | 32) <= 102;
    if (!isDigit && !isLetter) return false;
  }
  return true;
}

/** Position of the first byte after the longest complete, valid UTF-8 prefix. */
function brokenUtf8(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  while (p < end) {
    const width = widthOf(bytes[p]!);
    if (p + width > end || !isUtf8(bytes.subarray(p, p + width))) break;
    p += width;
  }
  return p;
}

function widthOf(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
