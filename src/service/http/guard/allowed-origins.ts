import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import type { Settings } from "../../../contract/settings.ts";

export const ALLOWED_METHODS = "GET, HEAD, POST, PUT, DELETE";
export const REQUEST_HEADERS =
  "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Last-Event-ID, " +
  "Mcp-Protocol-Version, Mcp-Session-Id, Prefer, Range, Traceparent";
export const ANSWER_HEADERS =
  "Accept-Ranges, Content-Range, ETag, Location, Mcp-Session-Id, Operation-Location, Preference-Applied, Retry-After";
const PREFLIGHT_SECONDS = "600";

/** The web pages that may call the service: pages of its own origin and of the setting `allowed_origins`. */
export class AllowedOrigins {
  readonly #allowed: ReadonlySet<string>;

  constructor(settings: Pick<Settings, "public_url" | "allowed_origins">) {
    const own = settings.public_url === undefined ? [] : [new URL(settings.public_url).origin];
    this.#allowed = new Set([
      ...own,
      ...settings.allowed_origins.map((text) => text.replace(/\/$/, "").toLowerCase()),
    ]);
  }

  /**
   * Refuses a request that a browser sends for a foreign page. A request without Origin and Sec-Fetch-Site does not come from a
   * browser.
   *
   * @throws MucastError forbidden.
   */
  check({ headers, routeOptions, method }: FastifyRequest): void {
    const { origin, host } = headers;
    if (origin !== undefined) {
      if (this.#isAllowed(origin) || isSame(origin, host)) return;
      throw foreign(`pages of ${show(origin)} may not call this service`);
    }
    const site = headers["sec-fetch-site"];
    if (site === undefined || site === "same-origin" || site === "none") return;
    const isLink = headers["sec-fetch-mode"] === "navigate" && (method === "GET" || method === "HEAD");
    if (isLink && routeOptions.config?.isPage) return;
    throw foreign("pages of other sites may not call this service");
  }

  /** Adds the CORS headers with which a browser shows the answer to a page of an allowed origin. */
  addHeaders(reply: FastifyReply, { headers }: FastifyRequest): void {
    const { origin } = headers;
    if (this.#allowed.size > 0) reply.header("vary", "Origin");
    if (origin === undefined || !this.#isAllowed(origin)) return;
    reply.headers({
      "access-control-allow-origin": origin,
      "access-control-expose-headers": ANSWER_HEADERS,
      "cross-origin-resource-policy": "cross-origin",
    });
  }

  /** Answers the preflight that a browser sends before the request itself. @returns whether it was a preflight. */
  answerPreflight(request: FastifyRequest, reply: FastifyReply): boolean {
    const { headers, method } = request;
    if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return false;
    if (headers["access-control-request-private-network"] === "true") {
      reply.header("access-control-allow-private-network", "true");
    }
    reply.code(204).headers({
      "access-control-allow-methods": ALLOWED_METHODS,
      "access-control-allow-headers": REQUEST_HEADERS,
      "access-control-max-age": PREFLIGHT_SECONDS,
    });
    void reply.send();
    return true;
  }

  #isAllowed(origin: string): boolean {
    return this.#allowed.has(origin.toLowerCase());
  }
}

/** Compares without the scheme: a proxy may end TLS, and then the page is https and the request http. */
function isSame(origin: string, host: string | undefined): boolean {
  const text = origin.toLowerCase();
  return (
    host !== undefined &&
    (text === `http://${host.toLowerCase()}` || text === `https://${host.toLowerCase()}`)
  );
}

function foreign(reason: string): MucastError {
  return new MucastError("forbidden", `${reason}; its operator may add an origin to MUCAST_ALLOWED_ORIGINS`, {
    path: "Origin",
    title: "Pages of this origin may not call the service",
    advice:
      "Open a page of the service itself, or ask its operator to add the origin to MUCAST_ALLOWED_ORIGINS.",
  });
}
