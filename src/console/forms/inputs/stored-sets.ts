import type { StoredBlobView } from "../../../client/index.ts";
import { blobNameInUrl } from "../../inputs/blob-name.ts";

/** Both stored inputs of a job with the same id. */
export interface StoredSet {
  readonly id: string;
  readonly features: StoredBlobView;
  readonly prices: StoredBlobView;
}

/** Pairs feature and price blobs by their id, of the same format if there is one. @returns the newest set first. */
export function setsOf(
  features: readonly StoredBlobView[],
  prices: readonly StoredBlobView[],
): readonly StoredSet[] {
  const sets = features.flatMap((blob): StoredSet[] => {
    const name = blobNameInUrl(blob.name);
    if (name === undefined) return [];
    const partners = prices.filter((other) => blobNameInUrl(other.name)?.id === name.id);
    const partner =
      partners.find((other) => blobNameInUrl(other.name)?.format === name.format) ?? partners[0];
    return partner === undefined ? [] : [{ id: name.id, features: blob, prices: partner }];
  });
  return sets.toSorted((a, b) => storedAt(b).localeCompare(storedAt(a)));
}

/** When the later blob of a set was stored; ISO 8601. */
export function storedAt({ features, prices }: StoredSet): string {
  return [features.created_at, prices.created_at].toSorted()[1]!;
}
