import { join } from "node:path";
import { withSpace } from "../blob/names.ts";
import { type BlobPolicy, mappedBase } from "../blob/policy.ts";
import { OPTION_URL_MEMBERS } from "../contract/config/payload-schemas.ts";
import type { JobInputs } from "./executor.ts";

export interface JobStorage {
  /** The location of outputs; may carry a SAS. */
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

/**
 * The storage of one job: its caller's space. If URLs of the service map to a folder, they map to the space alone, so that a job knows
 * its blobs by its caller's URLs and reaches no other space. Only the shared inputs of the job come from the whole folder.
 */
export function storageOf({ blobUrl, policy: whole }: JobStorage, inputs: JobInputs): JobStorage {
  const { space = "", shared = [] } = inputs;
  const policy = { ...whole, own: { space, named: namedUrls(inputs) } };
  if (space === "") return { blobUrl, policy };
  const { mapped = [] } = policy;
  const own = mapped.flatMap(({ base, folder, root }) => {
    const keys = shared.filter((url) => url.startsWith(`${base}/`)).map((url) => url.slice(base.length + 1));
    return [
      { base, folder, keys },
      { base, folder: join(folder, space), root },
    ];
  });
  return {
    blobUrl: mappedBase(blobUrl, mapped) === undefined ? withSpace(blobUrl, space) : blobUrl,
    policy: { ...policy, mapped: own },
  };
}

/** The URLs that an operation names, without queries. The service has checked them for its caller. */
export function namedUrls({
  featureUrl,
  dataExtractorUrl,
  options = {},
}: Pick<JobInputs, "featureUrl" | "dataExtractorUrl" | "options">): string[] {
  const urls = [featureUrl, dataExtractorUrl, ...OPTION_URL_MEMBERS.map((name) => options[name])];
  return urls.flatMap((url) => (typeof url === "string" ? [url.split("?")[0]!] : []));
}
