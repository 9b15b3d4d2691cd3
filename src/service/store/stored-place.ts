import type { BlobPlace } from "./blob-records.ts";

/** How an operation's row names a blob of this service's own: by its path in the storage. */
export function storedPlace({ name, space }: BlobPlace): string {
  return `${space === "" ? "" : `/${space}`}/data/${name}`;
}

/** The same the other way; undefined for the URL of any other blob. */
export function placeStored(stored: string): BlobPlace | undefined {
  const [, space = "", name] = /^(?:\/([^/?]+))?\/data\/([^/?]+)$/.exec(stored) ?? [];
  return name === undefined ? undefined : { name, space };
}
