import { fileURLToPath } from "node:url";
import { MucastError } from "../contract/errors.ts";
import { type BlobPolicy, checkBlobUrl, shownUrl, withoutSignature } from "./policy.ts";

/** Where a blob is, and what errors and outputs call it. */
export type BlobPlace =
  | { readonly kind: "file"; readonly path: string; readonly name: string }
  | { readonly kind: "https"; readonly url: URL; readonly name: string };

const URL_LIKE = /:\/\/|^\W*(?:file|https?):/i;

/** True where `location` is meant as a URL rather than a path, also where quotes or spaces stand around it. */
export function isUrl(location: string): boolean {
  return URL_LIKE.test(location);
}

/**
 * Tells a path, a file: URL and an https URL apart and checks the latter against the policy.
 * @throws MucastError url_not_allowed, also for every other scheme; invalid_request for a broken file: URL.
 */
export function placeOf(location: string, policy: BlobPolicy): BlobPlace {
  if (location === "")
    throw new MucastError("invalid_request", "the location of a blob is empty", { value: "" });
  if (!isUrl(location)) return { kind: "file", path: location, name: withoutSignature(location) };
  if (/^file:/i.test(location))
    return { kind: "file", path: filePath(location), name: withoutSignature(location) };
  return { kind: "https", url: checkBlobUrl(location, policy), name: shownUrl(location) };
}

/** Path of a file: URL. @throws MucastError invalid_request where it names a host, a query or an odd path. */
export function filePath(location: string): string {
  try {
    const url = new URL(location);
    if (url.search === "" && url.hash === "") return fileURLToPath(url);
  } catch {
    // What the parser says would repeat the whole URL, so our own words follow.
  }
  const source = shownUrl(location);
  throw new MucastError(
    "invalid_request",
    `${source} is not a usable file: URL; write file:///absolute/path, or the plain path`,
    { value: source },
  );
}
