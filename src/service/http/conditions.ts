import type { IncomingHttpHeaders } from "node:http";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";

const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * Whether a blob is none of those that `If-Match` names (RFC 9110, 13.1.1). Weak tags match nothing here.
 *
 * @param etag of the blob there is; undefined where there is none.
 * @throws MucastError precondition_failed.
 */
export function checkIfMatch(headers: IncomingHttpHeaders, etag: string | undefined): void {
  const wanted = headers["if-match"];
  if (wanted === undefined) return;
  const matches = etag !== undefined && (wanted.trim() === "*" || tagsOf(wanted).includes(etag));
  if (matches) return;
  const found = etag === undefined ? "there is no such blob" : `it is ${etag} now`;
  throw new MucastError("precondition_failed", `the blob is not that of If-Match ${show(wanted)}: ${found}`, {
    path: "If-Match",
  });
}

/** Whether a blob is one of those that `If-None-Match` names (RFC 9110, 13.1.2); `*` names any. */
export function matchesNone(headers: IncomingHttpHeaders, etag: string | undefined): boolean {
  const unwanted = headers["if-none-match"];
  if (unwanted === undefined || etag === undefined) return true;
  if (unwanted.trim() === "*") return false;
  return !tagsOf(unwanted).some((tag) => tag.replace(/^W\//, "") === etag);
}

function tagsOf(header: string): string[] {
  return header.match(ENTITY_TAG) ?? [];
}
