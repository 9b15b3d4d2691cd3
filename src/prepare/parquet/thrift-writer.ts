/** Wire types of Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md). */
const Wire = { i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

/** A value of a structure. Parquet has lists of structures, texts and 32-bit integers only. */
export type ThriftValue =
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly text: string }
  | { readonly struct: ThriftFields }
  | { readonly structs: readonly ThriftFields[] }
  | { readonly texts: readonly string[] }
  | { readonly i32s: readonly number[] };

export type ThriftFields = readonly (readonly [id: number, value: ThriftValue])[];

/** The bytes of a structure in Thrift's compact protocol, in which Parquet writes its metadata. */
export function thriftBytes(fields: ThriftFields): Uint8Array {
  const out: number[] = [];
  writeStruct(out, fields);
  return Uint8Array.from(out);
}

function writeStruct(out: number[], fields: ThriftFields): void {
  let last = 0;
  for (const [id, value] of fields) {
    // The field numbers of Parquet's structures are below 16.
    out.push(((id - last) << 4) | wireOf(value));
    last = id;
    writeValue(out, value);
  }
  out.push(0);
}

function wireOf(value: ThriftValue): number {
  if ("i32" in value) return Wire.i32;
  if ("i64" in value) return Wire.i64;
  if ("text" in value) return Wire.binary;
  return "struct" in value ? Wire.struct : Wire.list;
}

function writeValue(out: number[], value: ThriftValue): void {
  if ("i32" in value) writeZigzag(out, value.i32);
  else if ("i64" in value) writeZigzag(out, value.i64);
  else if ("text" in value) writeText(out, value.text);
  else if ("struct" in value) writeStruct(out, value.struct);
  else if ("structs" in value) {
    writeListHeader(out, Wire.struct, value.structs.length);
    for (const fields of value.structs) writeStruct(out, fields);
  } else if ("texts" in value) {
    writeListHeader(out, Wire.binary, value.texts.length);
    for (const text of value.texts) writeText(out, text);
  } else {
    writeListHeader(out, Wire.i32, value.i32s.length);
    for (const number of value.i32s) writeZigzag(out, number);
  }
}

function writeListHeader(out: number[], type: number, size: number): void {
  if (size < 15) out.push((size << 4) | type);
  else {
    out.push(0xf0 | type);
    writeVarint(out, size);
  }
}

function writeText(out: number[], text: string): void {
  const bytes = Buffer.from(text);
  writeVarint(out, bytes.length);
  for (const byte of bytes) out.push(byte);
}

/** A whole number of at most 2^52 in size. */
function writeZigzag(out: number[], value: number): void {
  writeVarint(out, value < 0 ? -2 * value - 1 : 2 * value);
}

/** Appends a number from 0 to 2^53, seven bits a byte, the lowest first. */
export function writeVarint(out: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    out.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  out.push(rest);
}
