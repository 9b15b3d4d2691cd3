/** Replaces the end of a text that is cut. */
const ELLIPSIS = { text: "…", bytes: 3 };
const QUOTES = 2;
/** JSON writes these control characters as a backslash and a letter, the others as \uXXXX. */
const SHORT_ESCAPES = new Set([8, 9, 10, 12, 13]);

/**
 * The text in at most `bytes` bytes of JSON in UTF-8, quotes and escapes included: the text itself, or its beginning
 * with an ellipsis. No surrogate pair is cut.
 */
export function shortText(text: string, bytes: number): string {
  // A UTF-16 unit takes at most six bytes.
  if (6 * text.length + QUOTES <= bytes) return text;
  let used = QUOTES;
  /** The position to cut the text at so that the ellipsis fits. */
  let cut = 0;
  for (let i = 0; i < text.length; ) {
    const point = text.codePointAt(i)!;
    used += bytesOf(point);
    if (used > bytes) return `${text.slice(0, cut)}${ELLIPSIS.text}`;
    i += point > 0xffff ? 2 : 1;
    if (used + ELLIPSIS.bytes <= bytes) cut = i;
  }
  return text;
}

function bytesOf(point: number): number {
  if (point < 0x20) return SHORT_ESCAPES.has(point) ? 2 : 6;
  if (point === 0x22 || point === 0x5c) return 2;
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  if (point > 0xffff) return 4;
  return point >= 0xd800 && point <= 0xdfff ? 6 : 3;
}

/** The size of a value as JSON, in bytes of UTF-8. */
export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

function textBytes(text: string): number {
  let used = QUOTES;
  for (const character of text) used += bytesOf(character.codePointAt(0)!);
  return used;
}

interface Copy {
  readonly value: unknown;
  readonly bytes: number;
  /** Whether the copy has every member and every entry. */
  readonly isWhole: boolean;
}

interface CopyLimit {
  /** Limit of the whole copy as JSON, in bytes of UTF-8. */
  readonly bytes: number;
  /** Limit of each text in the copy, in bytes as JSON. */
  readonly text: number;
}

/**
 * A copy of a JSON value within a limit. Longer texts are cut. A list keeps as many of its first entries as fit completely. An object loses
 * the members that do not fit. Values beyond the limit are not visited.
 * @returns undefined if not even an empty copy fits.
 */
export function boundedCopy<T>(value: T, limit: CopyLimit): T | undefined {
  return copyOf(value, limit)?.value as T | undefined;
}

function copyOf(value: unknown, { bytes, text }: CopyLimit): Copy | undefined {
  if (typeof value === "string") {
    const short = shortText(value, Math.min(bytes, text));
    const used = textBytes(short);
    // A text that is cut because the whole copy is full does not count as a complete entry of a list.
    const isWhole = short === value || bytes >= text;
    return used > bytes ? undefined : { value: short, bytes: used, isWhole };
  }
  if (bytes < 2) return undefined;
  if (Array.isArray(value)) return copyOfList(value, { bytes, text });
  if (isPlain(value)) return copyOfObject(value, { bytes, text });
  if (JSON.stringify(value) === undefined) return undefined;
  const used = jsonBytes(value);
  return used > bytes ? undefined : { value, bytes: used, isWhole: true };
}

function copyOfList(list: readonly unknown[], { bytes, text }: CopyLimit): Copy {
  const value: unknown[] = [];
  let used = 2;
  for (const entry of list) {
    const comma = value.length === 0 ? 0 : 1;
    const copy = copyOf(entry ?? null, { bytes: bytes - used - comma, text });
    if (copy === undefined || !copy.isWhole) break;
    value.push(copy.value);
    used += comma + copy.bytes;
  }
  return { value, bytes: used, isWhole: value.length === list.length };
}

function copyOfObject(object: Readonly<Record<string, unknown>>, { bytes, text }: CopyLimit): Copy {
  const value: Record<string, unknown> = {};
  let used = 2;
  let isWhole = true;
  let isFirst = true;
  for (const [key, member] of Object.entries(object)) {
    if (member === undefined) continue;
    const name = (isFirst ? 0 : 1) + (6 * key.length > bytes ? bytes : textBytes(key)) + 1;
    const copy = copyOf(member, { bytes: bytes - used - name, text });
    isWhole &&= copy?.isWhole === true;
    if (copy === undefined) continue;
    Object.defineProperty(value, key, {
      value: copy.value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
    used += name + copy.bytes;
    isFirst = false;
  }
  return { value, bytes: used, isWhole };
}

/** Whether JSON writes the value member by member. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || "toJSON" in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype;
}

/** Whether parsed JSON has more than this many values, including nested ones. Stops at the first value beyond the limit. */
export function hasMoreValues(value: unknown, most: number): boolean {
  const open: unknown[] = [value];
  let count = 0;
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    count += 1;
    if (count > most) return true;
    if (typeof next !== "object" || next === null) continue;
    for (const key in next) {
      if (open.push((next as Record<string, unknown>)[key]) + count > most) return true;
    }
  }
  return false;
}
