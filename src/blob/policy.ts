import { MucastError } from "../contract/errors.ts";

/** Which https blobs may be read: those under one of these URLs (`https://host[:port]/container[/folder]`). */
export interface BlobPolicy {
  readonly allowed: readonly string[];
}

/**
 * The policy of an environment: `MUCAST_ALLOWED_BLOB_URLS`, URLs parted by spaces or commas; where that is
 * blank, BLOB_URL, if that is an https URL. Local files are not its matter.
 *
 * Addresses are not looked at: an origin is read because the operator named it, also when it resolves to a
 * private network, and no other origin is ever contacted.
 * @throws MucastError invalid_request for an entry that is not a plain https URL with a container.
 */
export function blobPolicy(env: Readonly<Record<string, string | undefined>>): BlobPolicy {
  const listed = (env.MUCAST_ALLOWED_BLOB_URLS ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
  if (listed.length > 0)
    return { allowed: listed.map((entry) => allowedUrl(entry, "MUCAST_ALLOWED_BLOB_URLS")) };
  const blobUrl = env.BLOB_URL?.trim() ?? "";
  // A BLOB_URL may carry a SAS; it is no part of the place.
  return { allowed: /^https:/i.test(blobUrl) ? [allowedUrl(blobUrl.split("?")[0]!, "BLOB_URL")] : [] };
}

function allowedUrl(entry: string, path: string): string {
  const text = entry.replace(/\/$/, "");
  const fault = text.includes("?") ? "has a query string" : spellingFault(text);
  const folders = text.split("/").length - 3;
  if (fault === undefined && folders >= 1) return text;
  throw new MucastError(
    "invalid_request",
    `${path}: ${shownUrl(entry)} ${fault ?? "names no container"}; write https://host[:port]/container`,
    { path, value: shownUrl(entry) },
  );
}

const BLOB_NAME = /\/data\/(?:feature_engine|data_extractor)_[A-Za-z0-9_-]{1,64}\.json$/;

/**
 * Checks an https URL of an input blob, `{blob_url}/data/feature_engine_<id>.json` or `data_extractor_<id>.json`.
 * A query string (such as a SAS) may follow; it is used for the request and shown nowhere.
 *
 * The URL has to be spelt exactly as it is requested: whatever a parser would quietly change (dot segments,
 * encoded slashes, backslashes, letter case, a default port, odd IP address forms, non-ASCII hosts) is refused,
 * so what is compared with the policy is what the server gets.
 * @throws MucastError url_not_allowed.
 */
export function checkBlobUrl(text: string, policy: BlobPolicy): URL {
  const place = text.split("?")[0]!;
  const fault = /[^\x21-\x7e]/.test(text)
    ? "holds a space, a control character or a character that is not ASCII"
    : text.includes("#")
      ? "has a fragment"
      : spellingFault(place);
  if (fault !== undefined) throw notAllowed(text, fault);
  if (!BLOB_NAME.test(place)) {
    throw notAllowed(
      text,
      "does not end in /data/feature_engine_<id>.json or /data/data_extractor_<id>.json",
    );
  }
  if (!policy.allowed.some((prefix) => place.startsWith(`${prefix}/`))) {
    throw notAllowed(text, "is outside the allowed origins and containers");
  }
  return new URL(text);
}

const SEGMENT = /^[A-Za-z0-9$_~-][A-Za-z0-9._~$-]*$/;

/** What is odd about a URL without query; undefined where it is plain. */
function spellingFault(text: string): string | undefined {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol !== "https:") return "is not an https URL";
  if (url.username !== "" || url.password !== "") return "holds a user name or password";
  const host = text.slice("https://".length).split("/")[0]!;
  if (text.slice(0, 8) !== "https://" || host !== url.host || url.hostname.endsWith(".")) {
    return "spells its host unusually (write it in lower case, without default port or trailing dot)";
  }
  const segments = text
    .slice("https://".length + host.length)
    .split("/")
    .slice(1);
  const odd = segments.find((segment) => !SEGMENT.test(segment));
  return odd === undefined ? undefined : `has an unusual part in its path, "${shownUrl(odd).slice(0, 40)}"`;
}

/**
 * A URL as it may be shown: without query, fragment, user name and password, also where it is misspelt so that these
 * would count as something else.
 */
export function shownUrl(text: string): string {
  const place = text.split(/[?#&;]|%3f/i)[0]!;
  return place.replace(/(:[/\\]*|[/\\]{2}).*@/s, "$1");
}

// Not the backslash: in a line of JSON it may belong to the quote behind.
const SIGNATURE = /\bsig=[^&;#\s"'<>\\]*/gi;

/** Text as it may be shown: without the signature of a SAS, which is its secret part. */
export function withoutSignature(text: string): string {
  return text.replaceAll(SIGNATURE, "sig=…");
}

function notAllowed(text: string, fault: string): MucastError {
  const source = shownUrl(text);
  return new MucastError("url_not_allowed", `${source} ${fault}`, { source });
}
