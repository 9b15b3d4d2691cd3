import type { Compression } from "../../contract/config/input-formats.ts";
import { compress } from "./compress.ts";
import { type ThriftFields, thriftBytes, writeVarint } from "./thrift-writer.ts";

/** Numbers of parquet.thrift. */
const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
export const PLAIN = 0;
export const RLE = 3;
export const RLE_DICTIONARY = 8;
export const BYTE_STREAM_SPLIT = 9;

export interface StoredPage {
  readonly parts: readonly [header: Uint8Array, body: Uint8Array];
  /** Bytes with the header, before and after compression. */
  readonly size: number;
  readonly storedSize: number;
}

export function dataPage(
  body: Uint8Array,
  count: number,
  encoding: number,
  compression: Compression,
): StoredPage {
  const header: ThriftFields = [
    [1, { i32: count }],
    [2, { i32: encoding }],
    [3, { i32: RLE }],
    [4, { i32: RLE }],
  ];
  return page(DATA_PAGE, [5, { struct: header }], body, compression);
}

/** @param body the values, encoded as PLAIN. */
export function dictionaryPage(body: Uint8Array, count: number, compression: Compression): StoredPage {
  const header: ThriftFields = [
    [1, { i32: count }],
    [2, { i32: PLAIN }],
  ];
  return page(DICTIONARY_PAGE, [7, { struct: header }], body, compression);
}

function page(
  type: number,
  own: ThriftFields[number],
  body: Uint8Array,
  compression: Compression,
): StoredPage {
  const stored = compress(body, compression);
  const header = thriftBytes([
    [1, { i32: type }],
    [2, { i32: body.length }],
    [3, { i32: stored.length }],
    own,
  ]);
  return {
    parts: [header, stored],
    size: header.length + body.length,
    storedSize: header.length + stored.length,
  };
}

/**
 * The body of a page of numbers: a level for each row, 1 for a value and 0 for a null, then the values that are not null, in the encoding
 * BYTE_STREAM_SPLIT. It puts the bytes of equal significance side by side, so that signs and exponents compress well.
 * @param values NaN for a null; a number beyond the range of float32 becomes one.
 */
export function numbersBody(values: Float64Array, isFloat32: boolean): Uint8Array {
  const stored = isFloat32 ? new Float32Array(values) : values.slice();
  for (let i = 0; i < stored.length; i++) {
    // Zero has one sign, as in JSON.
    if (stored[i] === 0) stored[i] = 0;
    else if (!Number.isFinite(stored[i]!)) stored[i] = Number.NaN;
  }
  const levels = levelsOf(stored);
  const numbers = stored.filter((value) => !Number.isNaN(value));
  const bytes = new Uint8Array(numbers.buffer);
  const width = numbers.BYTES_PER_ELEMENT;
  const n = numbers.length;
  const body = new Uint8Array(4 + levels.length + bytes.length);
  new DataView(body.buffer).setUint32(0, levels.length, true);
  body.set(levels, 4);
  for (let k = 0; k < width; k++) {
    for (let i = 0, at = 4 + levels.length + k * n; i < n; i++) body[at + i] = bytes[i * width + k]!;
  }
  return body;
}

function levelsOf(values: Float64Array | Float32Array): Uint8Array {
  const runs: number[] = [];
  for (let i = 0; i < values.length; ) {
    const isNull = Number.isNaN(values[i]!);
    let end = i + 1;
    while (end < values.length && Number.isNaN(values[end]!) === isNull) end++;
    writeRun(runs, end - i, isNull ? 0 : 1, 1);
    i = end;
  }
  return Uint8Array.from(runs);
}

/** The body of a page of texts in the encoding RLE_DICTIONARY. @param runs for each entry of the dictionary, its rows. */
export function textRunsBody(runs: readonly number[]): Uint8Array {
  const width = Math.max(1, Math.ceil(Math.log2(runs.length)));
  const out = [width];
  for (const [index, rows] of runs.entries()) writeRun(out, rows, index, Math.ceil(width / 8));
  return Uint8Array.from(out);
}

/** A run of the RLE encoding: twice its length, and its value in as many bytes as all values need. */
function writeRun(out: number[], length: number, value: number, bytes: number): void {
  writeVarint(out, 2 * length);
  for (let k = 0; k < bytes; k++) out.push((value >>> (8 * k)) & 0xff);
}

/** Texts in the encoding PLAIN: each after its length. */
export function textsBody(texts: readonly string[]): Uint8Array {
  const encoded = texts.map((text) => Buffer.from(text));
  const body = Buffer.alloc(encoded.reduce((sum, { length }) => sum + 4 + length, 0));
  let at = 0;
  for (const text of encoded) {
    at = body.writeUInt32LE(text.length, at);
    at += text.copy(body, at);
  }
  return body;
}
