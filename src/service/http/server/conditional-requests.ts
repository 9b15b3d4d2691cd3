import type { IncomingHttpHeaders } from "node:http";
import type { StoredBlob } from "../../../blob/store.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import { counted } from "../../../contract/errors/wording.ts";

const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * Checks that `If-Match` names the blob (RFC 9110, 13.1.1). A weak tag matches no blob.
 * @param etag of the blob; undefined if there is no blob.
 * @throws MucastError precondition_failed.
 */
export function checkIfMatch(headers: IncomingHttpHeaders, etag: string | undefined): void {
  const wanted = headers["if-match"];
  if (wanted === undefined) return;
  const matches = etag !== undefined && (wanted.trim() === "*" || parseTags(wanted).includes(etag));
  if (matches) return;
  const found = etag === undefined ? "there is no such blob" : `its ETag is ${etag}`;
  throw new MucastError("precondition_failed", `the blob does not match If-Match ${show(wanted)}: ${found}`, {
    path: "If-Match",
  });
}

/** Whether `If-None-Match` does not name the blob (RFC 9110, 13.1.2). `*` names every blob. */
export function matchesNone(headers: IncomingHttpHeaders, etag: string | undefined): boolean {
  const unwanted = headers["if-none-match"];
  if (unwanted === undefined || etag === undefined) return true;
  if (unwanted.trim() === "*") return false;
  return !parseTags(unwanted).some((tag) => tag.replace(/^W\//, "") === etag);
}

function parseTags(header: string): string[] {
  return header.match(ENTITY_TAG) ?? [];
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const RANGE = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/i;

/**
 * The part that `Range` and `If-Range` request (RFC 9110, 14.2). Undefined, which means the whole blob, for no range, several ranges,
 * a range in another unit, or one of another version of the blob.
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
