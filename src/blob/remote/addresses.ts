import { lookup as systemLookup } from "node:dns";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { MucastError } from "../../contract/errors/errors.ts";

/**
 * The addresses that an origin may resolve to: `public`, an address of the open internet; `loopback`, this machine; `any`, for an origin
 * that the operator has listed as private.
 */
export type AddressRule = "public" | "loopback" | "any";

/** IPv4 blocks that are not public: IANA's special-purpose registry (RFC 6890 and later), multicast and reserved space. */
const SPECIAL_4 = blockList("ipv4", [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  // Every machine in Azure reaches its platform's services (such as goal states with secrets) there.
  "168.63.129.16/32",
]);

/** The only block of IPv6 that is assigned for public use (RFC 4291) ... */
const GLOBAL_6 = blockList("ipv6", ["2000::/3"]);

/** ... and the parts of it that are not public: protocol assignments with Teredo, documentation, 6to4, AS112. */
const SPECIAL_6 = blockList("ipv6", [
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
]);

/** IPv6 that represents the IPv4 address in its last 32 bits: mapped (RFC 4291), and NAT64 (RFC 6052). */
const CARRIES_4 = blockList("ipv6", ["::ffff:0:0/96", "64:ff9b::/96"]);

const LOOPBACK = blockList("ipv4", ["127.0.0.0/8"]);

function blockList(family: "ipv4" | "ipv6", subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net, prefix] = subnet.split("/") as [string, string];
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}

/** @param address an IP address as a resolver returns it, or from a URL without brackets. */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  if (rule === "any") return isIP(address) !== 0;
  const carried = carriedIpv4(address);
  const judged = carried ?? address;
  if (isIP(judged) === 4) return rule === "loopback" ? LOOPBACK.check(judged) : !SPECIAL_4.check(judged);
  if (rule === "loopback") return isIP(judged) === 6 && canonical6(judged) === "::1";
  return isIP(judged) === 6 && GLOBAL_6.check(judged, "ipv6") && !SPECIAL_6.check(judged, "ipv6");
}

/** @returns the IPv4 address that an IPv6 address represents; undefined if it represents none. */
function carriedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6 || !CARRIES_4.check(address, "ipv6")) return undefined;
  const [high, low] = canonical6(address).split(":").slice(-2) as [string, string];
  const bits = Number.parseInt(high || "0", 16) * 0x1_0000 + Number.parseInt(low || "0", 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join(".");
}

/** The canonical spelling of RFC 5952, to which URLs are parsed; without a zone. */
function canonical6(address: string): string {
  return new URL(`http://[${address.split("%")[0]}]/`).hostname.slice(1, -1);
}

/**
 * The agent for one origin. It connects only to addresses that `guardedLookup` has checked, ignores the environment's proxy, and keeps
 * connections alive.
 * @param origin as in a URL.
 * @param ca PEM certificates to trust instead of the system's.
 */
export function guardedAgent(
  origin: string,
  rule: AddressRule,
  { ca, connections = Number.POSITIVE_INFINITY }: { ca?: string | undefined; connections?: number } = {},
): HttpAgent | HttpsAgent {
  const options = { keepAlive: true, maxSockets: connections, lookup: guardedLookup(origin, rule) };
  if (origin.startsWith("http:")) return new HttpAgent(options);
  return new HttpsAgent({ ...options, ...(ca === undefined ? {} : { ca }) });
}

/**
 * Resolves a name once and gives the connection only the checked addresses, so that a name that resolves to something else a moment later
 * changes nothing. One disallowed address among several refuses all. IP addresses as hosts never come here; `checkAddress` checks
 * them.
 * @param resolve queries the system; a parameter only because a test cannot have a name that changes.
 */
export function guardedLookup(
  origin: string,
  rule: AddressRule,
  resolve: typeof systemLookup = systemLookup,
): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, "", 0);
      if (addresses.length === 0 || !addresses.every(({ address }) => isAllowedAddress(address, rule))) {
        return done(notPublic(origin, rule), "", 0);
      }
      if (options.all) return done(null, addresses);
      return done(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

/** Checks the host of a URL if that is an IP address, which is never looked up. @throws MucastError url_not_allowed. */
export function checkAddress({ hostname, origin }: URL, rule: AddressRule): void {
  const host = withoutBrackets(hostname);
  if (isIP(host) !== 0 && !isAllowedAddress(host, rule)) throw notPublic(origin, rule);
}

/** The host of a URL as an IP address is written elsewhere. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** The error of an origin that has, or resolves to, an address that its rule does not allow. */
function notPublic(origin: string, rule: AddressRule): MucastError {
  const message =
    rule === "loopback"
      ? `${origin} does not resolve to a loopback address, and only those may be http`
      : `${origin} has an address that is not public; to allow it, the operator lists ${origin} in MUCAST_PRIVATE_ORIGINS`;
  return new MucastError("url_not_allowed", message, { source: origin });
}
