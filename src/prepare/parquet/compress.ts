import zlib from "node:zlib";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";
import type { Compression } from "../../contract/config/input-formats.ts";
import { MucastError } from "../../contract/errors/errors.ts";

/** `CompressionCodec` of parquet.thrift. */
export const CODECS: Readonly<Record<Compression, number>> = { snappy: 1, zstd: 6 };

export function checkCompression(compression: Compression): void {
  if (compression !== "zstd" || typeof zlib.zstdCompressSync === "function") return;
  const message = "compression: zstd needs Node 22.15 or later; use snappy";
  throw new MucastError("invalid_request", message, { path: "compression", value: compression });
}

export function compress(bytes: Uint8Array, compression: Compression): Uint8Array {
  return compression === "zstd" ? zlib.zstdCompressSync(bytes) : snappyCompress(bytes);
}
