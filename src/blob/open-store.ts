import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { withOptionalPackages } from "../contract/machine/optional-packages.ts";
import { FolderStore } from "./folder/folder-store.ts";
import { checkOutput, resolveOutput, writeOutput } from "./folder/output-folder.ts";
import { addressRule, filePath, isRemoteUrl, isUrl } from "./location.ts";
import {
  type BlobPolicy,
  containerUrl,
  DEFAULT_TRANSFER_LIMITS,
  isS3Url,
  mappedBase,
  type TransferLimits,
} from "./policy.ts";
import { CloudStore } from "./remote/cloud-store.ts";
import type { Content, JobStore } from "./store.ts";

interface StoreOptions {
  readonly policy: BlobPolicy;
  /** The environment with the credentials for Azure or S3; by default that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly limits?: Partial<TransferLimits>;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
}

/**
 * The store of a BLOB_URL: a folder (a path, a file: URL, or a URL that the policy maps to one), an Azure container, perhaps with a SAS,
 * or a bucket of S3. It sends no request and creates nothing yet; the modules of Azure and of S3 are loaded only for their own.
 * @throws MucastError invalid_request for a BLOB_URL that is none of these, or credentials or an endpoint that do not fit it;
 *   url_not_allowed for an endpoint of S3 with a private address.
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
  const transfer = { limits: { ...DEFAULT_TRANSFER_LIMITS, ...limits }, ca };
  if (isS3Url(blobUrl)) {
    const { S3Storage } = await import("./s3/s3-storage.ts");
    const bucket = containerUrl(blobUrl.trim(), "BLOB_URL", []);
    return new CloudStore(await S3Storage.open(bucket, { policy, env, ...transfer }));
  }
  const [bare, sas] = blobUrl.trim().split("?") as [string, string?];
  const container = containerUrl(bare, "BLOB_URL", policy.privateOrigins ?? []);
  const addresses = addressRule(new URL(container), policy);
  const { openAzure } = await withOptionalPackages(
    "A container of Azure in BLOB_URL",
    () => import("./azure/azure-storage.ts"),
  );
  return new CloudStore(await openAzure(container, { sas, env, addresses, ...transfer }));
}

/**
 * The target of one output: BLOB_URL, without one the folder of the feature file.
 * @param request.name as made by `outputName`, such as `ml_engine_<id>.json`.
 * @returns `check`, which throws output_failed early, before hours of training, if the output cannot be written later; and `write`, which
 *   writes it once, completely or not at all, and returns its URL without a secret.
 * @throws MucastError invalid_request if no output can be written there.
 */
export async function openOutput(
  request: { name: string; blobUrl?: string | undefined; featureLocation: string },
  options: StoreOptions,
) {
  const { name, blobUrl } = request;
  if (blobUrl === undefined || !isRemoteUrl(blobUrl)) {
    const folder = resolveOutput(request);
    return {
      check: () => checkOutput(folder, name),
      write: (content: Content, signal: AbortSignal) => writeOutput(folder, name, content, { signal }),
    };
  }
  const store = await openStore(blobUrl, options);
  const key = `data/${name}`;
  return {
    // Hours may pass in between, for which no connection is kept.
    check: () => store.checkNew(key).finally(() => store.close()),
    write: async (content: Content, signal: AbortSignal) => {
      await store.create(key, content, { signal }).finally(() => store.close());
      return `${store.url}/${key}`;
    },
  };
}
