import { access, chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { filePath, isUrl } from "../../blob/location.ts";
import { openStore } from "../../blob/open-store.ts";
import { type BlobPolicy, policyOf } from "../../blob/policy.ts";
import type { BlobStore, JobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import { type ServiceUrls, serviceBases } from "./input-urls.ts";

/** The storage as a process opens it by itself, so that no byte of a blob goes through the service. */
export interface StorageAccess {
  /** As `openStore` takes it; may carry a SAS. */
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

/** The storage of the blobs, as far as it is known before the service listens. */
export interface Storage {
  /** For HTTP, whose URLs of blobs are `/data/<name>`, and for commands. */
  readonly store: JobStore;
  /** The folder of the blobs; undefined in Azure and S3. */
  readonly folder: string | undefined;
  /** How another process opens `store`. */
  readonly access: StorageAccess;
  /** After the service listens: the store whose URLs appear in results, and the URLs of the blobs. */
  at(address: string): Promise<{ readonly store: BlobStore; readonly urls: ServiceUrls }>;
}

/** @throws MucastError invalid_request for a faulty `blob_url`, allowed URL or private origin. */
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
    return { store, folder: undefined, access: { blobUrl: settings.blob_url, policy }, at };
  }
  const folder = resolve(isUrl(settings.blob_url) ? filePath(settings.blob_url) : settings.blob_url);
  const mapping = (bases: readonly string[]): BlobPolicy =>
    policyOf({ ...rules, mapped: bases.map((base) => ({ base, folder, root: folder })) });
  const own = { policy: mapping([""]) };
  return {
    store: await openStore("", own),
    folder,
    access: { blobUrl: "", ...own },
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
 * Prepares the folder of the blobs before the service responds. Restricts a folder in the data folder to its owner, since older
 * versions left it open. A folder elsewhere, which the operator has created, keeps its permissions. Creates a missing folder now;
 * uploads never create it, because a blob written after the folder was moved away would be lost.
 * @param folder absolute, like `dataDir`.
 * @throws MucastError output_failed if it is missing and cannot be created.
 */
export async function openBlobFolder(folder: string, dataDir: string): Promise<void> {
  const isInDataDir = folder === join(dataDir, "blobs");
  try {
    await (isInDataDir ? chmod(folder, 0o700) : access(folder));
  } catch (error) {
    // The readiness check reports problems of an existing folder.
    if (codeOf(error) !== "ENOENT") return;
    makeBlobFolder(folder);
  }
}

function makeBlobFolder(folder: string): void {
  try {
    makeFolder(folder, 0o700);
  } catch (error) {
    const shown = `the folder of the blobs, ${folder},`;
    throw new MucastError(
      "output_failed",
      `${shown} cannot be created: ${causeOf(error)}`,
      { path: folder },
      { cause: error },
    );
  }
}
