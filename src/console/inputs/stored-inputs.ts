import type { StoredBlobView } from "../../client/index.ts";
import { errorWords } from "../problem.ts";
import type { ViewContext } from "../view.ts";
import { blobNameInUrl } from "./blob-name.ts";

/** The input blobs of the caller, the newest first. */
export interface StoredInputs {
  readonly features: readonly StoredBlobView[];
  readonly prices: readonly StoredBlobView[];
  /** Why they cannot be listed. */
  readonly fault?: string;
}

/** Blobs of each kind that are listed, as many as a page of the service has. */
const MAX_LISTED = 100;

/** @throws the reason of the signal. */
export async function readInputs({ client, signal }: ViewContext): Promise<StoredInputs> {
  try {
    const pages = (["features", "prices"] as const).map((kind) =>
      client.listBlobs({ kind, limit: MAX_LISTED, signal }),
    );
    const [features, prices] = await Promise.all(pages);
    return { features: features!.blobs, prices: prices!.blobs };
  } catch (error) {
    signal.throwIfAborted();
    return { features: [], prices: [], fault: `Stored inputs could not be listed. ${errorWords(error)}` };
  }
}

/** The URLs that a member of a payload may have. */
export function urlsFor({ features, prices }: StoredInputs, path: readonly string[]): readonly string[] {
  const kinds = {
    feature_url: features,
    previous_feature_url: features,
    data_extractor_url: prices,
    previous_data_extractor_url: prices,
  };
  const [name] = path;
  return Object.hasOwn(kinds, name!) ? kinds[name as keyof typeof kinds].map(({ url }) => url) : [];
}

/** Both stored inputs of a job with the same id. */
export interface StoredSet {
  readonly id: string;
  readonly features: StoredBlobView;
  readonly prices: StoredBlobView;
}

/** Pairs feature and price blobs by their id, of the same format if there is one. @returns the newest set first. */
export function setsOf({ features, prices }: StoredInputs): readonly StoredSet[] {
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
