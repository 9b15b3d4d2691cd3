import fc from "fast-check";
import type { ByteSource } from "../contract/market/ticker-series.ts";

/** The cut positions of bytes, each relative to the previous cut. */
export const cuts = fc.array(fc.oneof(fc.constant(1), fc.nat({ max: 40 })), { maxLength: 40 });

/** Cuts bytes into chunks of the given lengths, repeatedly. */
export function cut(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (let i = 0; at < bytes.length && lengths.length > 0 && i < 10_000; i++) {
    const next = at + lengths[i % lengths.length]!;
    chunks.push(bytes.subarray(at, next));
    at = Math.min(next, bytes.length);
  }
  if (at < bytes.length) chunks.push(bytes.subarray(at));
  return chunks;
}

/** A blob of these chunks that records whether its stream was closed. */
export function sourceOf(
  chunks: Iterable<Uint8Array>,
  name = "blob.json",
): ByteSource & { isClosed: boolean } {
  const source = { name, isClosed: false, chunks: read() };
  async function* read() {
    try {
      yield* chunks;
    } finally {
      source.isClosed = true;
    }
  }
  return source;
}
