import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../contract/errors.ts";
import type { Authenticate } from "../auth/authenticate.ts";
import type { OpenRequests } from "./open-requests.ts";
import { addressKey, type TokenBuckets } from "./token-buckets.ts";

export interface Admission {
  readonly authenticate: Authenticate;
  readonly buckets: TokenBuckets;
  readonly open: OpenRequests;
}

/**
 * Finds out who asks, counts the request, and lets in whom the route is for.
 *
 * Who has said who they are is counted as that, so that nobody else at their address (a proxy, say) uses it up.
 * @throws MucastError unauthorized, forbidden, rate_limited, unavailable.
 */
export async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { authenticate, buckets, open }: Admission,
): Promise<void> {
  const { access = "admin", isUncounted } = request.routeOptions.config;
  if (access === "anyone") {
    if (!isUncounted) count(buckets, addressKey(request.ip));
    return;
  }
  const caller = await authenticate(request.headers.authorization).catch((error) => {
    count(buckets, addressKey(request.ip));
    throw error;
  });
  request.caller = caller;
  count(buckets, `caller ${caller.subject}`);
  open.begin(caller.subject, reply.raw);
  if (caller.scopes.has(access)) return;
  const held = [...caller.scopes].join(", ") || "none";
  throw new MucastError("forbidden", `this needs the scope ${access}; the credentials have: ${held}`, {
    scope: access,
  });
}

function count(buckets: TokenBuckets, key: string): void {
  const retryAfter = buckets.take(key);
  if (retryAfter === 0) return;
  throw new MucastError("rate_limited", `too many requests; there is room again in ${retryAfter} s`, {
    retryAfter,
  });
}
