import { isAllowedAddress } from "./addresses.ts";

const SEGMENT = /^[A-Za-z0-9$_~-][A-Za-z0-9._~$-]*$/;
const SCHEME = /^https?:\/\//;

/**
 * What is odd about a URL without query; undefined where it is plain. Whatever a parser would quietly change (dot
 * segments, encoded slashes, backslashes, letter case, a default port, odd IP address forms, non-ASCII hosts) is
 * odd, so what is compared with a policy is what a server gets.
 */
export function spellingFault(text: string, privateOrigins: readonly string[] = []): string | undefined {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol === "http:" && isLoopbackHost(url.hostname)) {
    if (!privateOrigins.includes(url.origin)) {
      return "is not an https URL, and its loopback origin is not listed in MUCAST_PRIVATE_ORIGINS";
    }
  } else if (url.protocol !== "https:") return "is not an https URL";
  if (url.username !== "" || url.password !== "") return "holds a user name or password";
  const scheme = SCHEME.exec(text)?.[0] ?? "";
  const [host, ...segments] = text.slice(scheme.length).split("/");
  if (scheme === "" || host !== url.host || url.hostname.endsWith(".")) {
    return "spells its host unusually (write it in lower case, without default port or trailing dot)";
  }
  const odd = segments.find((segment) => !SEGMENT.test(segment));
  return odd === undefined ? undefined : `has an unusual part in its path, "${shownPart(odd)}"`;
}

/** Without what could be a secret in it. */
function shownPart(segment: string): string {
  return segment
    .split(/[?#&;]|%3f/i)[0]!
    .replace(/.*@/s, "")
    .slice(0, 40);
}

/** @param hostname of a parsed URL. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || isAllowedAddress(withoutBrackets(hostname), "loopback");
}

export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}
