import { access, chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { checkFolder } from "../../blob/folder/output-folder.ts";
import { filePath, isUrl } from "../../blob/location.ts";
import { openStore } from "../../blob/open-store.ts";
import { type BlobPolicy, policyOf } from "../../blob/policy.ts";
import type { BlobStore } from "../../blob/store.ts";
import { codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import { type ServiceUrls, serviceBases } from "./input-urls.ts";

/** Where blobs are, before it is known where the service listens. */
export interface Storage {
  /** For HTTP, which calls its blobs `/data/<name>`. */
  readonly store: BlobStore;
  /** Where they are on this machine; undefined in Azure. */
  readonly folder: string | undefined;
  /** Once the service listens: the store whose URLs stand in records, and under which URLs blobs are known. */
  at(address: string): Promise<{ readonly store: BlobStore; readonly urls: ServiceUrls }>;
}

/** @throws MucastError invalid_request for a `blob_url`, an allowed URL or a private origin that is none. */
export async function openStorage(settings: ServiceSettings, env: NodeJS.ProcessEnv): Promise<Storage> {
  const publicUrl = settings.public_url?.replace(/\/+$/, "");
  const limits = { tickers: settings.blob_tickers, nameBytes: settings.blob_name_bytes };
  const rules = {
    allowed: settings.allowed_blob_urls,
    privateOrigins: settings.private_origins,
    limits,
  };
  if (isRemote(settings.blob_url)) {
    const policy = policyOf({ ...rules, blobUrl: settings.blob_url });
    const store = await openStore(settings.blob_url, { policy, env });
    const at = async (address: string) => ({
      store,
      urls: { bases: serviceBases(address, publicUrl), jobBase: store.url, policy },
    });
    return { store, folder: undefined, at };
  }
  const folder = resolve(isUrl(settings.blob_url) ? filePath(settings.blob_url) : settings.blob_url);
  const mapping = (bases: readonly string[]): BlobPolicy =>
    policyOf({ ...rules, mapped: bases.map((base) => ({ base, folder, root: folder })) });
  return {
    store: await openStore("", { policy: mapping([""]) }),
    folder,
    at: async (address) => {
      const bases = serviceBases(address, publicUrl);
      const policy = mapping(bases);
      const store = await openStore(bases[0]!, { policy });
      return { store, urls: { bases, jobBase: store.url, policy } };
    },
  };
}

function isRemote(blobUrl: string): boolean {
  return isUrl(blobUrl) && !/^file:/i.test(blobUrl);
}

/**
 * Looks at the folder of the blobs before the service answers. That of the data folder is closed to other users: older
 * versions left it open. One that the operator has made elsewhere keeps its rights. One that is missing is made
 * now, and by no blob later: what is written where the folder was moved away would be lost.
 * @param folder absolute, as `dataDir`.
 * @throws MucastError output_failed where it is missing and cannot be made.
 */
export async function openBlobFolder(folder: string, dataDir: string): Promise<void> {
  const isOurs = folder === join(dataDir, "blobs");
  try {
    await (isOurs ? chmod(folder, 0o700) : access(folder));
  } catch (error) {
    // Of one that is there, the readiness check tells what is wrong with it.
    if (codeOf(error) !== "ENOENT") return;
    await checkFolder(folder, `the folder of the blobs, ${folder},`);
    makeFolder(folder, 0o700);
  }
}
