import { type BlobLimits, blobLimits } from "../contract/blob-limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { isAllowedAddress, withoutBrackets } from "./remote/addresses.ts";

/**
 * Which blobs may be read, from which places, and how large they may be. Plain data without a secret, so that it can travel to a job as
 * JSON.
 */
export interface BlobPolicy {
  /** URLs with a container, `https://host[:port]/container[/folder]` or `s3://bucket[/folder]`: remote blobs are read only under these. */
  readonly allowed: readonly string[];
  /** Origins that may resolve to addresses that are not public; a loopback one among them may be http. */
  readonly privateOrigins?: readonly string[] | undefined;
  /** The container or bucket of BLOB_URL. A URL under it that carries no SAS is read with the credentials for it. */
  readonly container?: string | undefined;
  /** URLs that map to a folder on this machine, as the service's own origin does. */
  readonly mapped?: readonly MappedBase[] | undefined;
  /** The limits of a blob; the defaults if it is missing. */
  readonly limits?: BlobLimits | undefined;
  /**
   * For a job that a service runs for a caller: the caller's space, empty for the root of the container; and the URLs without query that
   * the service has checked for the caller. A replayed output names others: in the container they reach only the space.
   */
  readonly own?: { readonly space: string; readonly named: readonly string[] } | undefined;
}

export interface MappedBase {
  /** The part before `/data/<name>`, without a final slash. */
  readonly base: string;
  /** Absolute path of the folder that holds `data`. */
  readonly folder: string;
  /** Absolute path of a folder that must exist, `folder` or one above it; without it, nothing is written. */
  readonly root?: string | undefined;
  /** Only these blobs, such as `data/<name>`; they take precedence over entries of the same base without such a list. */
  readonly keys?: readonly string[] | undefined;
}

/**
 * The policy of an environment: `MUCAST_ALLOWED_BLOB_URLS` and `MUCAST_PRIVATE_ORIGINS`, URLs separated by spaces or commas, BLOB_URL, and
 * the limits of a blob. It does not concern local files.
 * @throws MucastError invalid_request for an entry that is no URL of its kind.
 */
export function blobPolicy(env: Readonly<Record<string, string | undefined>>): BlobPolicy {
  const listOf = (text = "") => text.split(/[\s,]+/).filter((word) => word !== "");
  return policyOf({
    allowed: listOf(env.MUCAST_ALLOWED_BLOB_URLS),
    privateOrigins: listOf(env.MUCAST_PRIVATE_ORIGINS),
    blobUrl: env.BLOB_URL?.trim(),
    limits: blobLimits(env),
  });
}

/**
 * @param rules.allowed by default the container of `blobUrl`.
 * @param rules.blobUrl may carry a SAS; it stays out of the policy.
 * @throws MucastError invalid_request for an entry that is no URL of its kind.
 */
export function policyOf(
  rules: Pick<BlobPolicy, "allowed" | "mapped" | "limits"> & {
    readonly privateOrigins: readonly string[];
    readonly blobUrl?: string | undefined;
  },
): BlobPolicy {
  const { allowed, privateOrigins, blobUrl = "", mapped = [], limits } = rules;
  const origins = privateOrigins.map(privateOrigin);
  const isContainer = /^(?:https?|s3):/i.test(blobUrl) && mappedBase(blobUrl, mapped) === undefined;
  const container = isContainer ? containerUrl(blobUrl.split("?")[0]!, "BLOB_URL", origins) : undefined;
  const listed = allowed.map((entry) => containerUrl(entry, "MUCAST_ALLOWED_BLOB_URLS", origins));
  return {
    allowed: listed.length === 0 && container !== undefined ? [container] : listed,
    privateOrigins: origins,
    mapped,
    ...(limits === undefined ? {} : { limits }),
    ...(container === undefined ? {} : { container }),
  };
}

/** The storages whose credentials a process needs to read what the policy allows, and to write to BLOB_URL. */
export function credentialsFor({ container, allowed }: BlobPolicy): { azure: boolean; s3: boolean } {
  return {
    azure: container !== undefined && !isS3Url(container),
    s3: [container ?? "", ...allowed].some(isS3Url),
  };
}

/** The mapped base that a BLOB_URL names: that of a whole folder. */
export function mappedBase(blobUrl: string, mapped: BlobPolicy["mapped"] = []): MappedBase | undefined {
  return mapped.find(({ base, keys }) => keys === undefined && base === blobUrl.replace(/\/$/, ""));
}

/** @throws MucastError invalid_request. */
export function containerUrl(entry: string, path: string, privateOrigins: readonly string[]): string {
  const text = entry.replace(/\/$/, "");
  const fault = text.includes("?") ? "has a query string" : spellingFault(text, privateOrigins);
  const folders = text.split("/").length - 3;
  if (fault === undefined && (folders >= 1 || isS3Url(text))) return text;
  const value = redactUrl(entry);
  const advice = "write https://host[:port]/container or s3://bucket";
  const message = `${path}: ${value} ${fault ?? "names no container"}; ${advice}`;
  throw new MucastError("invalid_request", message, { path, value });
}

/** @throws MucastError invalid_request. */
function privateOrigin(entry: string): string {
  const url = URL.canParse(entry) ? new URL(entry) : undefined;
  const allowed = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname));
  if (allowed && url?.origin === entry) return entry;
  const [path, value] = ["MUCAST_PRIVATE_ORIGINS", redactUrl(entry)];
  const advice = "write https://host[:port], or http://host[:port] for a loopback host";
  const message = `${path}: ${value} is not an origin; ${advice}`;
  throw new MucastError("invalid_request", message, { path, value });
}

/**
 * A URL that is safe to display: without query, fragment, user name and password, even if it is misspelt so that these would count as
 * something else. Takes linear time: any client can send it a long path.
 */
export function redactUrl(text: string): string {
  const bare = beforeQuery(text);
  const at = bare.lastIndexOf("@");
  const start = /:[/\\]*|[/\\]{2}/.exec(bare.slice(0, Math.max(0, at)));
  return start === null ? bare : bare.slice(0, start.index + start[0].length) + bare.slice(at + 1);
}

function beforeQuery(text: string): string {
  return text.split(/[?#&;]|%3f/i, 1)[0]!;
}

// Not the backslash: in a line of JSON it may belong to the quote that follows.
const SIGNATURE = /\b(sig|X-Amz-Signature|X-Amz-Security-Token)=[^&;#\s"'<>\\]*/gi;

/** Text that is safe to display: without the signature of a SAS or of a presigned URL, which is its secret part. */
export function withoutSignature(text: string): string {
  return text.replaceAll(SIGNATURE, "$1=…");
}

const SEGMENT = /^[A-Za-z0-9$_~-][A-Za-z0-9._~$-]*$/;
const SCHEME = /^https?:\/\//;

/**
 * What is unusual about a URL without query; undefined if it is plain. Everything that a parser would silently change (dot segments,
 * encoded slashes, backslashes, letter case, a default port, unusual IP address forms, non-ASCII hosts) is unusual, so that a server gets
 * exactly what was compared with the policy.
 */
export function spellingFault(text: string, privateOrigins: readonly string[] = []): string | undefined {
  if (isS3Url(text)) {
    if (S3_URL.test(text)) return undefined;
    return "is not of the form s3://bucket/folder, with the lower-case name of a bucket and plain folders";
  }
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol === "http:" && isLoopbackHost(url.hostname)) {
    if (!privateOrigins.includes(url.origin)) {
      return "is not an https URL, and its loopback origin is not listed in MUCAST_PRIVATE_ORIGINS";
    }
  } else if (url.protocol !== "https:") return "is not an https URL";
  if (url.username !== "" || url.password !== "") return "contains a user name or password";
  const scheme = SCHEME.exec(text)?.[0] ?? "";
  const [host, ...segments] = text.slice(scheme.length).split("/");
  if (scheme === "" || host !== url.host || url.hostname.endsWith(".")) {
    return "spells its host unusually (write it in lower case, without default port or trailing dot)";
  }
  const odd = segments.find((segment) => !SEGMENT.test(segment));
  if (odd === undefined) return undefined;
  // Without parts that could be a secret.
  const shown = beforeQuery(odd).split("@").at(-1)!.slice(0, 40);
  return `has an unusual part in its path, "${shown}"`;
}

const S3_URL =
  /^s3:\/\/([a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9])((?:\/[A-Za-z0-9$_~-][A-Za-z0-9._~$-]*)*)$/;

/** True for a text that is meant as an s3: URL. */
export function isS3Url(text: string): boolean {
  return /^s3:/i.test(text.trim());
}

/** @param url one without a fault. @returns the folder without a final slash, empty for the bucket itself. */
export function s3PlaceOf(url: string): { bucket: string; folder: string } {
  const [, bucket, folder] = S3_URL.exec(url)!;
  return { bucket: bucket!, folder: folder!.slice(1) };
}

/** @param hostname of a parsed URL. */
function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || isAllowedAddress(withoutBrackets(hostname), "loopback");
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** The limits of one transfer, and the retries of its requests. Sizes are bytes, times milliseconds. */
export const DEFAULT_TRANSFER_LIMITS = {
  /** Bytes as stored, which means compressed if the blob is. */
  maxStoredBytes: 16 * GIB,
  /** Bytes after decompression. */
  maxBytes: 16 * GIB,
  /** Until a TLS connection is established. */
  connectMs: 10_000,
  /** Until the headers of an answer, and between two pieces of its body. */
  idleMs: 60_000,
  /** From opening to the end of a remote blob. */
  totalMs: 2 * 3_600_000,
  /** Attempts at one request before the blob counts as unavailable. */
  attempts: 5,
  /** Pause after the first failed attempt; doubled after each further one, at most 16-fold. */
  backoffMs: 500,
  /** Length of one range request. */
  rangeBytes: 16 * MIB,
};

export type TransferLimits = Readonly<typeof DEFAULT_TRANSFER_LIMITS>;
