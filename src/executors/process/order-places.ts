import { join } from "node:path";
import { withSpace } from "../../blob/names.ts";
import { mappedBase } from "../../blob/policy.ts";
import type { JobOrder } from "../executor.ts";
import type { BlobPlaces } from "./messages.ts";

/**
 * The places of one order: its caller's space of the blobs. Where URLs of the service stand for a folder, they stand
 * for the space alone, so that a job knows its blobs by the URLs that its caller knows, and reaches no other space;
 * only the shared inputs of the order are those of the whole folder.
 */
export function placesOf(
  { blobUrl, policy }: BlobPlaces,
  { space = "", shared = [] }: Pick<JobOrder, "space" | "shared">,
): BlobPlaces {
  if (space === "") return { blobUrl, policy };
  const { mapped = [] } = policy;
  return {
    blobUrl: mappedBase(blobUrl, mapped) === undefined ? withSpace(blobUrl, space) : blobUrl,
    policy: {
      ...policy,
      mapped: mapped.flatMap(({ base, folder, root }) => [
        { base, folder, keys: shared.flatMap((url) => keyUnder(base, url)) },
        { base, folder: join(folder, space), root },
      ]),
    },
  };
}

function keyUnder(base: string, url: string): string[] {
  return url.startsWith(`${base}/`) ? [url.slice(base.length + 1)] : [];
}
