import { lookup as systemLookup } from "node:dns";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { LookupFunction } from "node:net";
import { MucastError } from "../../contract/errors/errors.ts";
import { type AddressRule, isAllowedAddress } from "./addresses.ts";

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
 * changes nothing. One disallowed address among several refuses all. IP addresses as hosts never come here; `checkInputLocation` checks
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

/** The error of an origin that has, or resolves to, an address that its rule does not allow. */
export function notPublic(origin: string, rule: AddressRule): MucastError {
  const message =
    rule === "loopback"
      ? `${origin} does not resolve to a loopback address, and only those may be http`
      : `${origin} has an address that is not public; to allow it, the operator lists ${origin} in MUCAST_PRIVATE_ORIGINS`;
  return new MucastError("url_not_allowed", message, { source: origin });
}
