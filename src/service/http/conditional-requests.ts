import type { IncomingHttpHeaders } from "node:http";
import type { StoredBlob } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { counted } from "../../contract/errors/wording.ts";

const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** `If-Match` (RFC 9110, 13.1.1). @param etag undefined if there is no blob. */
export function checkIfMatch(headers: IncomingHttpHeaders, etag: string | undefined): void {
  const wanted = headers["if-match"];
  if (wanted === undefined) return;
  if (etag !== undefined && (wanted.trim() === "*" || wanted.match(ENTITY_TAG)?.includes(etag))) return;
  const found = etag === undefined ? "there is no such blob" : `its ETag is ${etag}`;
  const message = `the blob does not match If-Match ${show(wanted)}: ${found}`;
  throw new MucastError("precondition_failed", message, { path: "If-Match" });
}

/** Whether `If-None-Match` does not name it (RFC 9110, 13.1.2). */
export function matchesNone(headers: IncomingHttpHeaders, etag: string | undefined): boolean {
  const unwanted = headers["if-none-match"];
  if (unwanted === undefined || etag === undefined) return true;
  if (unwanted.trim() === "*") return false;
  return !unwanted.match(ENTITY_TAG)?.some((tag) => tag.replace(/^W\//, "") === etag);
}

const RANGE = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/i;

/** Undefined for the whole blob, also for several ranges, a range in another unit, or one of another version (RFC 9110, 14.2). */
export function byteRange(headers: IncomingHttpHeaders, { size, etag }: StoredBlob) {
  const ifRange = headers["if-range"] ?? etag;
  const [match, first, last = "", suffix] = RANGE.exec(headers.range?.replaceAll(/\s/g, "") ?? "") ?? [];
  if (match === undefined || ifRange !== etag) return undefined;
  if (first !== undefined && last !== "" && Number(last) < Number(first)) return undefined;
  const start = first === undefined ? Math.max(0, size - Number(suffix)) : Number(first);
  const end = last === "" ? size : Math.min(size, Number(last) + 1);
  if (start < end) return { start, end };
  const message = `the blob has ${counted(size, "byte")}`;
  throw new MucastError("range_not_satisfiable", message, { path: "Range", size });
}
