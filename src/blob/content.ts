import { MucastError } from "../contract/errors/errors.ts";

/** Text is written as UTF-8. */
type Piece = Uint8Array | string;
/** The content to write, whole or in pieces. */
export type Content = Piece | AsyncIterable<Piece> | Iterable<Piece>;

/**
 * The bytes of `content` in blocks of `size` bytes, the last one possibly smaller; none for empty content.
 * @param name of the blob in errors.
 * @param limit in bytes; more are too_large.
 */
export async function* blocksOf(
  content: Content,
  {
    size,
    name,
    limit = Number.POSITIVE_INFINITY,
  }: { size: number; name: string; limit?: number | undefined },
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let [bytes, total] = [0, 0];
  for await (const piece of piecesOf(content)) {
    const added = typeof piece === "string" ? Buffer.from(piece) : piece;
    total += added.length;
    if (total > limit) throw tooLarge(name, limit);
    held.push(added);
    bytes += added.length;
    if (bytes < size) continue;
    const joined = Buffer.concat(held);
    const whole = bytes - (bytes % size);
    for (let at = 0; at < whole; at += size) yield joined.subarray(at, at + size);
    held = [joined.subarray(whole)];
    bytes -= whole;
  }
  if (bytes > 0) yield Buffer.concat(held);
}

function piecesOf(content: Content): AsyncIterable<Piece> | Iterable<Piece> {
  return typeof content === "string" || content instanceof Uint8Array ? [content] : content;
}

function tooLarge(name: string, limit: number): MucastError {
  const message = `${name} would hold more than the limit of ${limit} bytes`;
  return new MucastError("too_large", message, { source: name, limit });
}
