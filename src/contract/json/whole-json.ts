/** A JSON document, or why it cannot be read: the message of the parser, or that it is too large. */
export type WholeJson =
  | { readonly value: unknown }
  | { readonly fault: string }
  | { readonly isTooLarge: true };

/**
 * Reads a JSON document into memory as a whole.
 * @param maxBytes stops reading above it. @throws errors of `chunks`.
 */
export async function readWholeJson(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<WholeJson> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of chunks) {
    bytes += piece.length;
    if (bytes > maxBytes) return { isTooLarge: true };
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString("utf8");
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: (error as SyntaxError).message };
  }
}
