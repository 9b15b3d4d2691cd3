import type { MucastClient } from "../../../client/index.ts";
import { type BlobKind, blobNameInUrl } from "./blob-name.ts";

/** Maximum number of URLs that a form offers. */
const MAX_OFFERED = 50;

const known = new WeakMap<MucastClient, string[]>();

/** Remembers a blob that the reader has uploaded or prepared, as long as the page is open and the credentials stay the same. */
export function rememberBlob(client: MucastClient, url: string): void {
  const others = (known.get(client) ?? []).filter((one) => one !== url);
  known.set(client, [url, ...others].slice(0, 2 * MAX_OFFERED));
}

/** URLs of remembered blobs of a kind, newest first. */
export function knownBlobs(client: MucastClient, kind: BlobKind): readonly string[] {
  return (known.get(client) ?? []).filter((url) => blobNameInUrl(url)?.kind === kind).slice(0, MAX_OFFERED);
}

/** The remembered blob of the other kind with the same id. */
export function partnerOf(client: MucastClient, url: string): string | undefined {
  const name = blobNameInUrl(url);
  if (name === undefined) return undefined;
  const other = name.kind === "feature_engine" ? "data_extractor" : "feature_engine";
  return knownBlobs(client, other).find((one) => blobNameInUrl(one)?.id === name.id);
}
