import { MucastError } from "../../contract/errors/errors.ts";

/** A discovery document or a key set has some kilobytes. */
const MOST_BYTES = 2 ** 20;

/**
 * As `fetch`, with the body read whole: no more of it than 1 MiB, decompressed.
 * @throws MucastError unavailable for a longer one, whose connection is closed; what `fetch` throws.
 */
export async function boundedFetch(url: string, init: RequestInit): Promise<Response> {
  const { body, status } = await fetch(url, init);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the body, and with it the connection.
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw tooLong(url);
    pieces.push(piece);
  }
  // A Response of these states must have no body.
  const isBare = [204, 205, 304].includes(status);
  return new Response(isBare ? null : Buffer.concat(pieces), { status });
}

function tooLong(url: string): MucastError {
  return new MucastError("unavailable", `${url} answers with more than ${MOST_BYTES} bytes`);
}
