import { join } from "node:path";
import { MucastError } from "../contract/errors/errors.ts";

/**
 * The folder of one caller in a storage, which holds that caller's `data/` and `status/`; empty for the storage
 * itself. Lower-case letters, digits and a dash alone, so that it is one folder everywhere: on file systems that do
 * not tell letter case, in blob names and in URLs.
 */
const SPACE = /^(?:key-[0-9a-f]{16}|sub-[0-9a-f]{64})$/;

/** @throws MucastError internal for a folder that is no caller's. */
export function checkSpace(space: string): string {
  if (space === "" || SPACE.test(space)) return space;
  throw new MucastError("internal", `${JSON.stringify(space.slice(0, 100))} is not the space of a caller`);
}

/** The space that a path relative to a storage begins with, such as `key-…` of `key-…/data/<name>`. */
export function spaceIn(path: string): string | undefined {
  const first = path.split("/")[0]!;
  return SPACE.test(first) ? first : undefined;
}

/** The BLOB_URL of a space in the storage of another one; a query string, such as a SAS, stays. */
export function withSpace(blobUrl: string, space: string): string {
  if (checkSpace(space) === "") return blobUrl;
  if (!/^\w+:\/\//.test(blobUrl)) return join(blobUrl, space);
  const [place, ...query] = blobUrl.split("?");
  return [`${place!.replace(/\/$/, "")}/${space}`, ...query].join("?");
}
