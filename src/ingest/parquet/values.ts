import {
  type ByteStrings,
  readDeltaLengthStrings,
  readDeltaStrings,
  readPlainStrings,
} from "./byte-strings.ts";
import type { Cursor } from "./cursor.ts";
import { readDeltas32, readDeltas64 } from "./delta.ts";
import type { PhysicalType } from "./schema.ts";

/** The values of a page or a dictionary, as they are stored: without nulls. */
export type Values = Int32Array | BigInt64Array | Float32Array | Float64Array | ByteStrings;

/** `Encoding` of parquet.thrift. */
const ENCODINGS: Readonly<Record<number, string>> = {
  0: "PLAIN",
  2: "PLAIN_DICTIONARY",
  3: "RLE",
  4: "BIT_PACKED",
  5: "DELTA_BINARY_PACKED",
  6: "DELTA_LENGTH_BYTE_ARRAY",
  7: "DELTA_BYTE_ARRAY",
  8: "RLE_DICTIONARY",
  9: "BYTE_STREAM_SPLIT",
};

export function encodingName(encoding: number): string {
  return ENCODINGS[encoding] ?? `the unknown encoding ${encoding}`;
}

export function isDictionaryEncoded(encoding: number): boolean {
  return encoding === 2 || encoding === 8;
}

export function readValues(cursor: Cursor, encoding: number, physical: PhysicalType, count: number): Values {
  const name = encodingName(encoding);
  const unknown = () =>
    cursor.fault(`has the type ${physical} in the encoding ${name}, which cannot be read`);
  switch (physical) {
    case "INT32":
      if (name === "DELTA_BINARY_PACKED") return whole(readDeltas32(cursor, count), count, cursor);
      return fixed(cursor, name, count, Int32Array, unknown);
    case "INT64":
      if (name === "DELTA_BINARY_PACKED") return whole(readDeltas64(cursor, count), count, cursor);
      return fixed(cursor, name, count, BigInt64Array, unknown);
    case "FLOAT":
      return fixed(cursor, name, count, Float32Array, unknown);
    case "DOUBLE":
      return fixed(cursor, name, count, Float64Array, unknown);
    case "BYTE_ARRAY":
      if (name === "PLAIN" || name === "PLAIN_DICTIONARY") return readPlainStrings(cursor, count);
      if (name === "DELTA_LENGTH_BYTE_ARRAY") return readDeltaLengthStrings(cursor, count);
      if (name === "DELTA_BYTE_ARRAY") return readDeltaStrings(cursor, count);
      throw unknown();
    default:
      throw unknown();
  }
}

interface ArrayOf<T> {
  new (count: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

/** Reads values of a fixed size: one after the other, or for BYTE_STREAM_SPLIT first the first byte of each, then the second, and so on. */
function fixed<T extends Int32Array | BigInt64Array | Float32Array | Float64Array>(
  cursor: Cursor,
  encoding: string,
  count: number,
  Type: ArrayOf<T>,
  unknown: () => Error,
): T {
  const isSplit = encoding === "BYTE_STREAM_SPLIT";
  if (!isSplit && encoding !== "PLAIN" && encoding !== "PLAIN_DICTIONARY") throw unknown();
  const width = Type.BYTES_PER_ELEMENT;
  const from = cursor.take(count * width);
  const values = new Type(count);
  if (isSplit) joinBytes(from, count, new Uint32Array(values.buffer));
  else new Uint8Array(values.buffer).set(from);
  return values;
}

const WORD_BYTES = 4;

/** Joins the bytes of values that are stored byte by byte. @param into the values as words of four bytes, the lowest first. */
function joinBytes(from: Uint8Array, count: number, into: Uint32Array): void {
  const words = count === 0 ? 0 : into.length / count;
  for (let w = 0; w < words; w++) {
    const first = w * WORD_BYTES * count;
    const [second, third, fourth] = [first + count, first + 2 * count, first + 3 * count];
    for (let i = 0; i < count; i++) {
      into[i * words + w] =
        from[first + i]! | (from[second + i]! << 8) | (from[third + i]! << 16) | (from[fourth + i]! << 24);
    }
  }
}

function whole<T extends { readonly length: number }>(values: T, count: number, cursor: Cursor): T {
  if (values.length === count) return values;
  throw cursor.fault(`has ${values.length} values in a page of ${count}`);
}
