import { isIP } from "node:net";
import { fileURLToPath } from "node:url";
import { type ErrorData, MucastError } from "../contract/errors/errors.ts";
import { spaceIn } from "./names.ts";
import {
  type BlobPolicy,
  isS3Url,
  type MappedBase,
  redactUrl,
  spellingFault,
  withoutBrackets,
  withoutSignature,
} from "./policy.ts";
import { type AddressRule, isAllowedAddress, notPublic } from "./remote/addresses.ts";

/** The location of a blob, and its name in errors and outputs. */
export type BlobLocation = FileLocation | UrlLocation;

interface FileLocation {
  readonly kind: "file";
  readonly path: string;
  readonly name: string;
}

/**
 * `mapped`: the URL maps to a folder. `container`: it is in BLOB_URL's container, or in an allowed bucket of S3, for which there are
 * credentials. `remote`: any other allowed URL, requested as it is written.
 */
type UrlLocation =
  | {
      readonly kind: "mapped";
      readonly key: string;
      readonly base: string;
      readonly folder: string;
      readonly name: string;
    }
  /** `container` is BLOB_URL's, or a caller's space in it; or a bucket of S3, perhaps with a folder. */
  | { readonly kind: "container"; readonly key: string; readonly container: string; readonly name: string }
  | { readonly kind: "remote"; readonly url: URL; readonly addresses: AddressRule; readonly name: string };

const URL_LIKE = /:\/\/|^\W*(?:file|https?|s3):/i;

/** True for a location that is on another machine: an https:, http: or s3: URL. */
export function isRemoteUrl(location: string): boolean {
  return /^(?:https?|s3):/i.test(location.trim());
}

/** True if `location` is meant as a URL rather than a path, even if quotes or spaces surround it. */
export function isUrl(location: string): boolean {
  return URL_LIKE.test(location);
}

/**
 * Distinguishes a path, a file: URL and other URLs, and checks the latter against the policy.
 * @throws MucastError url_not_allowed, also for every other scheme; invalid_request for a broken file: URL.
 */
export function locationOf(location: string, policy: BlobPolicy, names: BlobNames = "input"): BlobLocation {
  if (location === "")
    throw new MucastError("invalid_request", "the location of a blob is empty", { value: "" });
  if (!isUrl(location)) return { kind: "file", path: location, name: withoutSignature(location) };
  if (/^file:/i.test(location))
    return { kind: "file", path: filePath(location), name: withoutSignature(location) };
  return checkLocation(location, policy, names);
}

/** The kind of blobs that a URL may name: inputs of a job, or outputs. */
export type BlobNames = "input" | "output";

/** A blob's key in its store: `data/` and a name of that kind. */
const KEYS: Readonly<Record<BlobNames, { readonly pattern: RegExp; readonly expected: string }>> = {
  input: {
    pattern: /\/(data\/(?:feature_engine|data_extractor)_[A-Za-z0-9_-]{1,64}\.(?:json|parquet))$/,
    expected: "/data/feature_engine_<id>.json or /data/data_extractor_<id>.json (or .parquet)",
  },
  output: {
    pattern: /\/(data\/(?:ml_engine|nn_engine)_[A-Za-z0-9_-]{1,64}\.json)$/,
    expected: "/data/ml_engine_<id>.json or /data/nn_engine_<id>.json",
  },
};

/**
 * Checks the URL of an input blob, `{blob_url}/data/feature_engine_<id>.json` or `data_extractor_<id>.json`, or the same with
 * `.parquet`, as far as possible without a request: only the request itself shows what its host resolves to. A query string (such as a SAS) may follow; it is used for the request
 * and never displayed. Paths and file: URLs are refused, so a service can check what its callers write with it.
 * @throws MucastError url_not_allowed.
 */
export function checkInputLocation(text: string, policy: BlobPolicy): UrlLocation {
  return checkLocation(text, policy, "input");
}

/** `checkInputLocation` for the blobs of `names`. @throws MucastError url_not_allowed. */
export function checkLocation(text: string, policy: BlobPolicy, names: BlobNames): UrlLocation {
  const bare = text.split("?")[0]!;
  if (/[^\x21-\x7e]/.test(text)) {
    throw misnamed(text, "contains a space, a control character or a character that is not ASCII", names);
  }
  if (text.includes("#")) throw misnamed(text, "has a fragment", names);
  const key = KEYS[names].pattern.exec(bare)?.[1];
  const before = bare.slice(0, -1 - (key?.length ?? 0));
  const name = redactUrl(text);
  const mapped = key === undefined ? undefined : mappedTo(key, before, policy);
  if (mapped !== undefined) return { kind: "mapped", key: key!, base: before, folder: mapped.folder, name };
  const noName = `does not end in ${KEYS[names].expected}`;
  // Its base may be http, so only the name is wrong.
  if (key === undefined && isMapped(bare, policy)) throw misnamed(text, noName, names);
  const fault = spellingFault(bare, policy.privateOrigins);
  if (fault !== undefined) throw notAllowed(text, fault);
  if (key === undefined) throw misnamed(text, noName, names);
  if (!policy.allowed.some((prefix) => bare.startsWith(`${prefix}/`))) {
    throw notAllowed(text, "is outside the allowed origins and containers");
  }
  if (isForeign(bare, policy)) throw notAllowed(text, "is not a blob of this caller");
  if (isS3Url(bare)) {
    if (text !== bare) throw notAllowed(text, "has a query string; a presigned URL begins with https://");
    if (isReadable(bare, before, policy)) return { kind: "container", key, container: before, name };
    throw notAllowed(text, "is in a folder of BLOB_URL that is no caller's space");
  }
  const url = new URL(text);
  const addresses = addressRule(url, policy);
  const host = withoutBrackets(url.hostname);
  if (isIP(host) !== 0 && !isAllowedAddress(host, addresses)) throw notPublic(url.origin, addresses);
  if (isOwnContainer(before, policy) && text === bare) {
    return { kind: "container", key, container: before, name };
  }
  return { kind: "remote", url, addresses, name };
}

/** The base that maps to a folder: an entry for this very blob, else one for the whole folder. */
function mappedTo(key: string, before: string, { mapped = [] }: BlobPolicy): MappedBase | undefined {
  const bases = mapped.filter(({ base }) => base === before);
  return bases.find(({ keys }) => keys?.includes(key)) ?? bases.find(({ keys }) => keys === undefined);
}

/** Whether a URL without query is under a base that maps to a whole folder. */
function isMapped(bare: string, { mapped = [] }: BlobPolicy): boolean {
  return mapped.some(({ base, keys }) => keys === undefined && bare.startsWith(`${base}/`));
}

/** BLOB_URL's container, or a caller's space in it. */
function isOwnContainer(before: string, { container }: BlobPolicy): boolean {
  if (container === undefined || before === container) return before === container;
  const [folder, space] = [before.slice(0, container.length + 1), before.slice(container.length + 1)];
  return folder === `${container}/` && spaceIn(space) === space;
}

/** Every s3: URL is read with credentials: under BLOB_URL only its own blobs, and elsewhere what the operator has listed. */
function isReadable(bare: string, before: string, policy: BlobPolicy): boolean {
  const { container, allowed } = policy;
  const isListed = allowed.some((prefix) => prefix !== container && bare.startsWith(`${prefix}/`));
  return isListed || isOwnContainer(before, policy);
}

/** Whether a URL names a blob of BLOB_URL's container that does not belong to the caller. */
function isForeign(bare: string, { container, own }: BlobPolicy): boolean {
  if (own === undefined || container === undefined || !bare.startsWith(`${container}/`)) return false;
  const space = spaceIn(bare.slice(container.length + 1)) ?? "";
  return space !== own.space && !own.named.includes(bare);
}

/** What the host of a URL may resolve to. */
export function addressRule({ protocol, origin }: URL, { privateOrigins = [] }: BlobPolicy): AddressRule {
  if (protocol === "http:") return "loopback";
  return privateOrigins.includes(origin) ? "any" : "public";
}

function notAllowed(text: string, fault: string, data: ErrorData = {}): MucastError {
  const source = redactUrl(text);
  return new MucastError("url_not_allowed", `${source} ${fault}`, { source, ...data });
}

/** The error is the same whether a blob of that name exists or not. */
function misnamed(text: string, fault: string, names: BlobNames): MucastError {
  return notAllowed(text, fault, {
    title: `The URL does not name an ${names}`,
    advice: `Use a URL that ends in ${KEYS[names].expected}, where <id> is 1 to 64 letters, digits, "_" or "-".`,
  });
}

/** Path of a file: URL. @throws MucastError invalid_request if it has a host, a query or an unusual path. */
export function filePath(location: string): string {
  try {
    const url = new URL(location);
    if (url.search === "" && url.hash === "") return fileURLToPath(url);
  } catch {
    // The parser's error would repeat the whole URL; the error below does not.
  }
  const source = redactUrl(location);
  throw new MucastError(
    "invalid_request",
    `${source} is not a usable file: URL; write file:///absolute/path, or the plain path`,
    { value: source },
  );
}
