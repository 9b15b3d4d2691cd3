import type { Cursor } from "./cursor.ts";
import { readDeltas32 } from "./delta.ts";

/** Texts of a column: text i is `bytes[offsets[i], offsets[i] + lengths[i])`, in UTF-8. */
export interface ByteStrings {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
  readonly lengths: Uint32Array;
}

/** Reads `count` texts, each after its length in four bytes. */
export function readPlainStrings(cursor: Cursor, count: number): ByteStrings {
  // The memory for a hostile count is limited by the existing bytes.
  cursor.require(4 * count);
  const offsets = new Uint32Array(count);
  const lengths = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const length = cursor.uint32();
    cursor.require(length);
    offsets[i] = cursor.position;
    lengths[i] = length;
    cursor.position += length;
  }
  return { bytes: cursor.bytes, offsets, lengths };
}

/** Reads DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes. */
export function readDeltaLengthStrings(cursor: Cursor, count: number): ByteStrings {
  const lengths = readLengths(cursor, count);
  const offsets = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    offsets[i] = cursor.position;
    cursor.take(lengths[i]!);
  }
  return { bytes: cursor.bytes, offsets, lengths };
}

/** Texts share prefixes, so few bytes can mean many. */
const MAX_TEXT_BYTES = 2 ** 28;

/** Reads DELTA_BYTE_ARRAY: the length of the prefix that each text shares with the previous one, then the rest of each. */
export function readDeltaStrings(cursor: Cursor, count: number): ByteStrings {
  const prefixes = readLengths(cursor, count);
  const rest = readDeltaLengthStrings(cursor, count);
  let total = 0;
  for (let i = 0; i < count; i++) total += prefixes[i]! + rest.lengths[i]!;
  if (total > MAX_TEXT_BYTES) throw cursor.fault(`has a page of more than ${MAX_TEXT_BYTES} bytes of text`);
  const bytes = new Uint8Array(total);
  const offsets = new Uint32Array(count);
  const lengths = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const prefix = prefixes[i]!;
    const before = i === 0 ? 0 : lengths[i - 1]!;
    if (prefix > before) throw cursor.fault("has a text that shares more than the whole text before it");
    if (i > 0) bytes.copyWithin(at, offsets[i - 1]!, offsets[i - 1]! + prefix);
    const start = rest.offsets[i]!;
    bytes.set(rest.bytes.subarray(start, start + rest.lengths[i]!), at + prefix);
    offsets[i] = at;
    lengths[i] = prefix + rest.lengths[i]!;
    at += lengths[i]!;
  }
  return { bytes, offsets, lengths };
}

function readLengths(cursor: Cursor, count: number): Uint32Array {
  const lengths = readDeltas32(cursor, count);
  if (lengths.length !== count) throw cursor.fault(`has ${lengths.length} lengths of ${count} texts`);
  if (lengths.some((length) => length < 0)) throw cursor.fault("has a text of negative length");
  return Uint32Array.from(lengths);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function textAt({ bytes, offsets, lengths }: ByteStrings, index: number, cursor: Cursor): string {
  const start = offsets[index]!;
  try {
    return utf8.decode(bytes.subarray(start, start + lengths[index]!));
  } catch {
    throw cursor.fault("contains a text that is not UTF-8");
  }
}

/** Whether texts i and j have the same bytes. */
export function isSameText({ bytes, offsets, lengths }: ByteStrings, i: number, j: number): boolean {
  const length = lengths[i]!;
  if (length !== lengths[j]!) return false;
  const [a, b] = [offsets[i]!, offsets[j]!];
  for (let k = 0; k < length; k++) if (bytes[a + k] !== bytes[b + k]) return false;
  return true;
}
