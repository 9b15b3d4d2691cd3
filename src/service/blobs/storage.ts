import { createHash } from "node:crypto";
import { access, chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { filePath, isUrl } from "../../blob/location.ts";
import { openStore } from "../../blob/open-store.ts";
import { type BlobPolicy, policyOf } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { LOCAL_SUBJECT } from "../auth/authenticate.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";

/** How another process opens the storage, so that no byte of a blob goes through the service. */
export interface StorageAccess {
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

export interface ServiceUrls {
  /** The service's own origins: the texts that can precede `/data/<name>`. */
  readonly bases: readonly string[];
  /** The text before `/data/<name>` in the URLs of jobs: the first base, or the container or bucket. */
  readonly jobBase: string;
  readonly policy: BlobPolicy;
}

export type Storage = Awaited<ReturnType<typeof openStorage>>;

/** @returns the store for HTTP and commands; the folder, if it is one; and `at`, for what the address of the service decides. */
export async function openStorage(settings: ServiceSettings, env: NodeJS.ProcessEnv) {
  const { blob_url: blobUrl } = settings;
  const publicUrl = settings.public_url?.replace(/\/+$/, "");
  const rules = {
    allowed: settings.allowed_blob_urls,
    privateOrigins: settings.private_origins,
    limits: { tickers: settings.blob_tickers, nameBytes: settings.blob_name_bytes },
  };
  if (isUrl(blobUrl) && !/^file:/i.test(blobUrl)) {
    const policy = policyOf({ ...rules, blobUrl });
    const store = await openStore(blobUrl, { policy, env });
    const at = async (address: string) => {
      const urls: ServiceUrls = { bases: serviceBases(address, publicUrl), jobBase: store.url, policy };
      return { store, urls, access: { blobUrl, policy } };
    };
    return { store, folder: undefined, access: { blobUrl, policy }, at };
  }
  const folder = resolve(isUrl(blobUrl) ? filePath(blobUrl) : blobUrl);
  const policyFor = (bases: readonly string[]) =>
    policyOf({ ...rules, mapped: bases.map((base) => ({ base, folder, root: folder })) });
  const access = { blobUrl: "", policy: policyFor([""]) };
  return {
    store: await openStore("", access),
    folder,
    access,
    at: async (address: string) => {
      const bases = serviceBases(address, publicUrl);
      const policy = policyFor(bases);
      const store = await openStore(bases[0]!, { policy });
      const urls: ServiceUrls = { bases, jobBase: store.url, policy };
      return { store, urls, access: { blobUrl: store.url, policy } };
    },
  };
}

export function serviceBases(address: string, publicUrl: string | undefined): string[] {
  const { port } = new URL(address);
  const loopback = ["127.0.0.1", "localhost", "[::1]"].map((host) => `http://${host}:${port || 80}`);
  return [...new Set([...(publicUrl === undefined ? [] : [publicUrl]), address, ...loopback])];
}

/** Uploads never create a missing folder: a blob written after the folder was moved away would be lost. Older versions left it open. */
export async function openBlobFolder(folder: string, dataDir: string): Promise<void> {
  try {
    await (folder === join(dataDir, "blobs") ? chmod(folder, 0o700) : access(folder));
  } catch (error) {
    // The readiness check reports problems of an existing folder.
    if (codeOf(error) !== "ENOENT") return;
    try {
      makeFolder(folder, 0o700);
    } catch (cause) {
      const message = `the folder of the blobs, ${folder}, cannot be created: ${causeOf(cause)}`;
      throw new MucastError("output_failed", message, { path: folder }, { cause });
    }
  }
}

const KEY_SUBJECT = /^key:[0-9a-f]{16}$/;

/** `key-<id>` for an API key, `sub-<SHA-256>` for any other subject, the root of the storage for `local`. No two subjects share one. */
export function spaceOf(subject: string): string {
  if (subject === LOCAL_SUBJECT) return "";
  if (KEY_SUBJECT.test(subject)) return subject.replace(":", "-");
  // UTF-16, since UTF-8 encodes every unpaired surrogate in the same way.
  return `sub-${createHash("sha256").update(Buffer.from(subject, "utf16le")).digest("hex")}`;
}

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/** The error of a store as the answer to a request: `output_failed`, which is for jobs, becomes storage_full or storage_failed. */
export function storageFailed(error: unknown, what: string): unknown {
  if (!(error instanceof MucastError) || error.code !== "output_failed") return error;
  const code = FULL.has(codeOf(error.cause) ?? "") ? "storage_full" : "storage_failed";
  const reason = error.cause === undefined ? error.message : causeOf(error.cause);
  return new MucastError(code, `${what}: ${reason}`, {}, { cause: error });
}
