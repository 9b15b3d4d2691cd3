import type { Cursor } from "./cursor.ts";
import { unpack } from "./runs.ts";

interface DeltaHeader {
  readonly blockSize: number;
  readonly miniblocks: number;
  readonly count: number;
}

/** The format requires multiples of 128 and of 32; writers use 128 to 4,096 values. */
const MAX_BLOCK = 2 ** 16;

/**
 * Reads DELTA_BINARY_PACKED numbers of 32 bits (parquet-format, Encodings.md).
 * @param limit the maximum count.
 */
export function readDeltas32(cursor: Cursor, limit: number): Int32Array {
  const header = readHeader(cursor, limit);
  const values = new Int32Array(header.count);
  let value = Number(BigInt.asIntN(32, cursor.bigZigzag()));
  if (header.count > 0) values[0] = value;
  const perMiniblock = header.blockSize / header.miniblocks;
  const packed = new Uint32Array(perMiniblock);
  let done = 1;
  while (done < header.count) {
    const least = Number(BigInt.asIntN(32, cursor.bigZigzag()));
    const widths = cursor.take(header.miniblocks);
    for (let m = 0; m < header.miniblocks && done < header.count; m++) {
      const width = widths[m]!;
      if (width > 32) throw cursor.fault(`packs 32-bit numbers in ${width} bits`);
      unpack(cursor.take((perMiniblock * width) / 8), width, packed, 0, perMiniblock);
      const end = Math.min(header.count, done + perMiniblock);
      for (let i = 0; done < end; i++) {
        value = (value + least + packed[i]!) | 0;
        values[done++] = value;
      }
    }
  }
  return values;
}

/** Like `readDeltas32`, for numbers of 64 bits. */
export function readDeltas64(cursor: Cursor, limit: number): BigInt64Array {
  const header = readHeader(cursor, limit);
  const values = new BigInt64Array(header.count);
  let value = cursor.bigZigzag();
  if (header.count > 0) values[0] = value;
  const perMiniblock = header.blockSize / header.miniblocks;
  let done = 1;
  while (done < header.count) {
    const least = cursor.bigZigzag();
    const widths = cursor.take(header.miniblocks);
    for (let m = 0; m < header.miniblocks && done < header.count; m++) {
      const width = widths[m]!;
      if (width > 64) throw cursor.fault(`packs 64-bit numbers in ${width} bits`);
      const bytes = cursor.take((perMiniblock * width) / 8);
      const end = Math.min(header.count, done + perMiniblock);
      for (let i = 0; done < end; i++) {
        value = BigInt.asIntN(64, value + least + bitsAt(bytes, i * width, width));
        values[done++] = value;
      }
    }
  }
  return values;
}

function readHeader(cursor: Cursor, limit: number): DeltaHeader {
  const blockSize = cursor.varint();
  const miniblocks = cursor.varint();
  const count = cursor.varint();
  const isValid =
    miniblocks > 0 && blockSize <= MAX_BLOCK && blockSize % (8 * miniblocks) === 0 && blockSize > 0;
  if (!isValid) throw cursor.fault(`has delta blocks of ${blockSize} values in ${miniblocks} parts`);
  if (count > limit) throw cursor.fault(`has ${count} delta values where at most ${limit} are expected`);
  return { blockSize, miniblocks, count };
}

function bitsAt(bytes: Uint8Array, start: number, width: number): bigint {
  let value = 0n;
  const first = start >> 3;
  const last = (start + width + 7) >> 3;
  for (let i = last - 1; i >= first; i--) value = (value << 8n) | BigInt(bytes[i]!);
  return (value >> BigInt(start & 7)) & ((1n << BigInt(width)) - 1n);
}
