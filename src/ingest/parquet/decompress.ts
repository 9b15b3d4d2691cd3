import zlib from "node:zlib";
import { Cursor, faultIn, type Part } from "./cursor.ts";
import { unsnappy } from "./snappy.ts";

/** `CompressionCodec` of parquet.thrift. */
const CODECS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"] as const;
const READABLE = "UNCOMPRESSED, SNAPPY, GZIP and ZSTD can be read";

/** @param length of the decompressed bytes, as the page declares it; limits the memory. */
export function decompress(bytes: Uint8Array, codec: number, length: number, part: Part): Uint8Array {
  // A page of nulls may have no bytes at all, not even compressed ones.
  if (length === 0 && bytes.length === 0) return bytes;
  const name = CODECS[codec];
  switch (name) {
    case "UNCOMPRESSED":
      return checked(bytes, length, part);
    case "SNAPPY":
      return unsnappy(new Cursor(bytes, part), length);
    case "GZIP":
      return inflated(zlib.gunzipSync, bytes, length, part);
    case "ZSTD":
      if (typeof zlib.zstdDecompressSync !== "function") {
        throw faultIn(part, "is compressed with ZSTD, which needs Node 22.15 or later");
      }
      return inflated(zlib.zstdDecompressSync, bytes, length, part);
    default:
      throw faultIn(part, `is compressed with ${name ?? `the unknown codec ${codec}`}; ${READABLE}`);
  }
}

type Inflate = (bytes: Uint8Array, options: { maxOutputLength: number; chunkSize: number }) => Uint8Array;

/** The minimum that zlib accepts. */
const MIN_CHUNK = 64;

function inflated(inflate: Inflate, bytes: Uint8Array, length: number, part: Part): Uint8Array {
  let found: Uint8Array;
  try {
    // One chunk, so that the pieces are not joined afterwards.
    found = inflate(bytes, { maxOutputLength: Math.max(1, length), chunkSize: Math.max(MIN_CHUNK, length) });
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw faultIn(part, `has a page that does not decompress to ${length} bytes (${reason})`);
  }
  return checked(found, length, part);
}

function checked(bytes: Uint8Array, length: number, part: Part): Uint8Array {
  if (bytes.length === length) return bytes;
  throw faultIn(part, `has a page of ${bytes.length} bytes that declares ${length}`);
}
