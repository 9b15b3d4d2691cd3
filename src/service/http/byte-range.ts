import type { IncomingHttpHeaders } from "node:http";
import type { StoredBlob } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";

/** A part of a blob; `end` exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const RANGE = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/i;

/**
 * The part that `Range` and `If-Range` ask for (RFC 9110, 14.2). Undefined for the whole: no range, several, one of
 * another unit, or one of another version of the blob.
 *
 * @throws MucastError range_not_satisfiable.
 */
export function byteRange(headers: IncomingHttpHeaders, { size, etag }: StoredBlob): ByteRange | undefined {
  const ifRange = headers["if-range"];
  if (headers.range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const [match, first, last, suffix] = RANGE.exec(headers.range.replaceAll(/\s/g, "")) ?? [];
  if (match === undefined) return undefined;
  if (first === undefined) return within(Math.max(0, size - Number(suffix)), size, size);
  if (last !== "" && Number(last) < Number(first)) return undefined;
  return within(Number(first), last === "" ? size : Math.min(size, Number(last) + 1), size);
}

function within(start: number, end: number, size: number): ByteRange {
  if (start < end) return { start, end };
  throw new MucastError("range_not_satisfiable", `the blob has ${counted(size, "byte")}`, {
    path: "Range",
    size,
  });
}
