import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { FolderStore } from "./folder/folder-store.ts";
import { addressRule, filePath, isUrl } from "./location.ts";
import { type BlobPolicy, containerUrl, mappedBase } from "./policy.ts";
import type { JobStore } from "./store.ts";
import { DEFAULT_TRANSFER_LIMITS, type TransferLimits } from "./transfer-limits.ts";

export interface StoreOptions {
  readonly policy: BlobPolicy;
  /** The environment with Azure's credentials; by default that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly limits?: Partial<TransferLimits>;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
}

/**
 * The store of a BLOB_URL: a folder (a path, a file: URL, or a URL that the policy maps to one), or an Azure
 * container, perhaps with a SAS. It sends no request and creates nothing yet; Azure's modules are loaded only for Azure.
 * @throws MucastError invalid_request for a BLOB_URL that is none of these, or credentials that do not fit it.
 */
export async function openStore(
  blobUrl: string,
  { policy, env = process.env, limits, ca }: StoreOptions,
): Promise<JobStore> {
  const mapped = mappedBase(blobUrl, policy.mapped);
  if (mapped !== undefined) return new FolderStore(mapped.folder, mapped.base, "", mapped.root);
  if (!isUrl(blobUrl) || /^file:/i.test(blobUrl)) {
    const folder = resolve(isUrl(blobUrl) ? filePath(blobUrl) : blobUrl);
    return new FolderStore(folder, pathToFileURL(folder).href);
  }
  const [bare, sas] = blobUrl.trim().split("?") as [string, string?];
  const container = containerUrl(bare, "BLOB_URL", policy.privateOrigins ?? []);
  const { openAzureStore } = await import("./azure/azure-store.ts");
  return openAzureStore(container, {
    addresses: addressRule(new URL(container), policy),
    limits: { ...DEFAULT_TRANSFER_LIMITS, ...limits },
    ca,
    sas,
    env,
  });
}
