import type { Cursor } from "./cursor.ts";

/** Wider values cannot be counted exactly by the masks below. */
const MAX_WIDTH = 32;

/**
 * Reads `into.length` values of the hybrid of run-length encoding and bit packing (parquet-format, Encodings.md, RLE).
 * @param width bits of a value.
 */
export function readRuns(cursor: Cursor, width: number, into: Uint8Array | Uint32Array): void {
  if (width > MAX_WIDTH) throw cursor.fault(`packs values in ${width} bits`);
  let done = 0;
  while (done < into.length) {
    const header = cursor.varint();
    if (header % 2 === 0) {
      const count = header / 2;
      if (count === 0) throw cursor.fault("has an empty run");
      // The last run may be longer than what remains of the page.
      const end = Math.min(into.length, done + count);
      into.fill(littleEndian(cursor, (width + 7) >> 3), done, end);
      done = end;
    } else {
      const groups = (header - 1) / 2;
      if (groups === 0) throw cursor.fault("has an empty run");
      const count = Math.min(into.length - done, groups * 8);
      // The last group of the page may be cut off after its last value.
      const length = Math.min(groups * width, cursor.remaining);
      if (length * 8 < count * width) throw cursor.fault("ends in the middle of a run");
      unpack(cursor.take(length), width, into, done, count);
      done += count;
    }
  }
}

function littleEndian(cursor: Cursor, bytes: number): number {
  let value = 0;
  for (let i = 0; i < bytes; i++) value += cursor.byte() * 2 ** (8 * i);
  return value;
}

/** Unpacks values of at most 32 bits, from the lowest bit on. */
export function unpack(
  bytes: Uint8Array,
  width: number,
  into: Uint8Array | Uint32Array,
  at: number,
  count: number,
): void {
  if (width === 0) {
    into.fill(0, at, at + count);
    return;
  }
  if (width > 24) {
    unpackWide(bytes, width, into, at, count);
    return;
  }
  const mask = (1 << width) - 1;
  let held = 0;
  let bits = 0;
  let next = 0;
  for (let i = 0; i < count; i++) {
    while (bits < width) {
      held |= bytes[next++]! << bits;
      bits += 8;
    }
    into[at + i] = held & mask;
    held >>>= width;
    bits -= width;
  }
}

/** A double holds 53 bits, which 32 and a byte fit into. */
function unpackWide(
  bytes: Uint8Array,
  width: number,
  into: Uint8Array | Uint32Array,
  at: number,
  count: number,
): void {
  const factor = 2 ** width;
  let held = 0;
  let bits = 0;
  let next = 0;
  for (let i = 0; i < count; i++) {
    while (bits < width) {
      held += bytes[next++]! * 2 ** bits;
      bits += 8;
    }
    into[at + i] = held % factor;
    held = Math.floor(held / factor);
    bits -= width;
  }
}
