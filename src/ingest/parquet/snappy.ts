import type { Cursor } from "./cursor.ts";

/**
 * Decompresses a block of Snappy's raw format (google/snappy, format_description.txt).
 * @param cursor at the block, which ends with its bytes.
 * @param length of the decompressed bytes, as the page declares it.
 */
export function unsnappy(cursor: Cursor, length: number): Uint8Array {
  if (cursor.varint() !== length) throw cursor.fault(`has a snappy block that does not hold ${length} bytes`);
  const { bytes } = cursor;
  const size = bytes.length;
  const into = new Uint8Array(length);
  let at = cursor.position;
  let done = 0;
  while (at < size) {
    const tag = bytes[at++]!;
    const kind = tag & 3;
    if (kind === 0) {
      let count = tag >> 2;
      if (count >= 60) {
        const width = count - 59;
        if (at + width > size) throw damaged(cursor);
        count = littleEndian(bytes, at, width);
        at += width;
      }
      count += 1;
      if (at + count > size || done + count > length) throw damaged(cursor);
      copyLiteral(bytes, at, into, done, count);
      at += count;
      done += count;
      continue;
    }
    const width = kind === 3 ? 4 : kind;
    if (at + width > size) throw damaged(cursor);
    const count = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const back = kind === 1 ? ((tag >> 5) << 8) | bytes[at]! : littleEndian(bytes, at, width);
    at += width;
    if (back === 0 || back > done || done + count > length) throw damaged(cursor);
    // The copy may overlap its source, and then repeats it.
    for (let from = done - back, end = done + count; done < end; ) into[done++] = into[from++]!;
  }
  if (done !== length) throw damaged(cursor);
  return into;
}

/** A call of `set` costs more than a short loop. */
const SHORT_LITERAL = 32;

function copyLiteral(from: Uint8Array, at: number, into: Uint8Array, to: number, count: number): void {
  if (count > SHORT_LITERAL) into.set(from.subarray(at, at + count), to);
  else for (let i = 0; i < count; i++) into[to + i] = from[at + i]!;
}

function littleEndian(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = width - 1; i >= 0; i--) value = value * 256 + bytes[at + i]!;
  return value;
}

function damaged(cursor: Cursor) {
  return cursor.fault("has a snappy block that is damaged");
}
