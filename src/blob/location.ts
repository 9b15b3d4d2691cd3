import { fileURLToPath } from "node:url";
import { type ErrorData, MucastError } from "../contract/errors/errors.ts";
import { spaceIn } from "./names.ts";
import { type BlobPolicy, isS3Url, redactUrl, spellingFault, withoutSignature } from "./policy.ts";
import { type AddressRule, checkAddress } from "./remote/addresses.ts";

/** A blob that a URL names. `name` is the URL without its query, for errors and outputs. */
type UrlLocation = { readonly name: string } & (
  | // The URL maps to a folder on this machine.
  { readonly kind: "mapped"; readonly key: string; readonly base: string; readonly folder: string }
  // Read with credentials: `container` is BLOB_URL's, or a caller's space in it; or an allowed bucket of S3, perhaps with a folder.
  | { readonly kind: "container"; readonly key: string; readonly container: string }
  // Any other allowed URL, requested as it is written.
  | { readonly kind: "remote"; readonly url: URL; readonly addresses: AddressRule }
);

/** The location of a blob, and its name in errors and outputs. */
export type BlobLocation =
  | UrlLocation
  | { readonly kind: "file"; readonly path: string; readonly name: string };

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
  if (location === "") {
    throw new MucastError("invalid_request", "the location of a blob is empty", { value: "" });
  }
  const isFileUrl = /^file:/i.test(location);
  if (isUrl(location) && !isFileUrl) return checkLocation(location, policy, names);
  const path = isFileUrl ? filePath(location) : location;
  return { kind: "file", path, name: withoutSignature(location) };
}

/** The kind of blobs that a URL may name: inputs of a job, or outputs. */
export type BlobNames = "input" | "output";

/** The end of a URL: a blob's key in its store, `data/` and a name of that kind. */
const KEYS = {
  input: {
    pattern: /\/(data\/(?:feature_engine|data_extractor)_[A-Za-z0-9_-]{1,64}\.(?:json|parquet))$/,
    expected: "/data/feature_engine_<id>.json or /data/data_extractor_<id>.json (or .parquet)",
  },
  output: {
    pattern: /\/(data\/(?:ml_engine|nn_engine)_[A-Za-z0-9_-]{1,64}\.json)$/,
    expected: "/data/ml_engine_<id>.json or /data/nn_engine_<id>.json",
  },
} as const;

/**
 * Checks a URL as far as possible without a request: only the request itself shows what its host resolves to. Its query, such as a SAS, is
 * used for the request and never displayed. Refuses paths and file: URLs, so that a service can check what its callers write with it.
 * @throws MucastError url_not_allowed.
 */
export function checkLocation(text: string, policy: BlobPolicy, names: BlobNames): UrlLocation {
  const { container, allowed, own, mapped = [] } = policy;
  const { pattern, expected } = KEYS[names];
  const bare = text.split("?")[0]!;
  /** The error is the same whether a blob of that name exists or not. */
  const misnamed = (fault: string) => {
    const advice = `Use a URL that ends in ${expected}, where <id> is 1 to 64 letters, digits, "_" or "-".`;
    return notAllowed(text, fault, { title: `The URL does not name an ${names}`, advice });
  };
  if (/[^\x21-\x7e]/.test(text)) {
    throw misnamed("contains a space, a control character or a character that is not ASCII");
  }
  if (text.includes("#")) throw misnamed("has a fragment");
  const key = pattern.exec(bare)?.[1];
  const before = bare.slice(0, -1 - (key?.length ?? 0));
  const name = redactUrl(text);
  const isWhole = mapped.find(({ base, keys }) => keys === undefined && bare.startsWith(`${base}/`));
  if (key !== undefined) {
    const bases = mapped.filter(({ base }) => base === before);
    const found = bases.find(({ keys }) => keys?.includes(key)) ?? bases.find(({ keys }) => !keys);
    if (found !== undefined) return { kind: "mapped", key, base: before, folder: found.folder, name };
  }
  // A mapped base may be http, so only the name is wrong.
  const fault = key === undefined && isWhole ? undefined : spellingFault(bare, policy.privateOrigins);
  if (fault !== undefined) throw notAllowed(text, fault);
  if (key === undefined) throw misnamed(`does not end in ${expected}`);
  const isAllowed = (prefix: string) => bare.startsWith(`${prefix}/`);
  if (!allowed.some(isAllowed)) throw notAllowed(text, "is outside the allowed origins and containers");
  const inContainer = container !== undefined && isAllowed(container);
  const space = inContainer ? (spaceIn(bare.slice(container.length + 1)) ?? "") : "";
  if (inContainer && own && space !== own.space && !own.named.includes(bare)) {
    throw notAllowed(text, "is not a blob of this caller");
  }
  const isOwn = inContainer && before === (space === "" ? container : `${container}/${space}`);
  if (isS3Url(bare)) {
    if (text !== bare) throw notAllowed(text, "has a query string; a presigned URL begins with https://");
    // Every s3: URL is read with credentials: under BLOB_URL only its own blobs, and elsewhere what the operator has listed.
    const isListed = allowed.some((prefix) => prefix !== container && isAllowed(prefix));
    if (isOwn || isListed) return { kind: "container", key, container: before, name };
    throw notAllowed(text, "is in a folder of BLOB_URL that is no caller's space");
  }
  const url = new URL(text);
  const addresses = addressRule(url, policy);
  checkAddress(url, addresses);
  if (isOwn && text === bare) return { kind: "container", key, container: before, name };
  return { kind: "remote", url, addresses, name };
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

/** Path of a file: URL. @throws MucastError invalid_request if it has a host, a query or an unusual path. */
export function filePath(location: string): string {
  try {
    const url = new URL(location);
    if (url.search === "" && url.hash === "") return fileURLToPath(url);
  } catch {
    // The parser's error would repeat the whole URL; the error below does not.
  }
  const value = redactUrl(location);
  const message = `${value} is not a usable file: URL; write file:///absolute/path, or the plain path`;
  throw new MucastError("invalid_request", message, { value });
}
