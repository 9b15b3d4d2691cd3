import { isIPv4 } from "node:net";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Settings } from "../../contract/settings.ts";
import { type Caller, SCOPES } from "../operations/operations.ts";
import { isSecretOf, keyAuthenticate, secretHash } from "./api-key.ts";
import { type Authenticate, LOCAL_SUBJECT, tokenIn } from "./authenticate.ts";
import type { KeyStore } from "./key-store.ts";

export interface AuthenticateParts {
  readonly keys: KeyStore;
  /** Of this process, in its lock file: whoever can read that is the operator. */
  readonly localToken?: string | undefined;
}

const OPERATOR: Caller = { subject: LOCAL_SUBJECT, scopes: new Set(SCOPES) };
/** Whoever reaches a loopback address; keys are made by the operator alone. */
const ANYONE: Caller = { subject: LOCAL_SUBJECT, scopes: new Set(["read", "write"]) };

/**
 * How callers of this service say who they are: by the setting `auth`, and with the operator's own token always.
 *
 * @throws MucastError invalid_request where the settings would let in anyone from anywhere.
 */
export async function buildAuthenticate(settings: Settings, parts: AuthenticateParts): Promise<Authenticate> {
  checkAuthAllowed(settings);
  const others = await authenticateOthers(settings, parts.keys);
  if (parts.localToken === undefined) return others;
  const hash = secretHash(parts.localToken);
  return async (authorization) => {
    const token = tokenIn(authorization);
    return token !== undefined && isSecretOf(hash, token) ? OPERATOR : others(authorization);
  };
}

async function authenticateOthers(settings: Settings, keys: KeyStore): Promise<Authenticate> {
  if (settings.auth === "none") return async () => ANYONE;
  if (settings.auth === "keys") return keyAuthenticate(keys);
  // jose is loaded where tokens are checked, and nowhere else.
  const { oidcAuthenticate } = await import("./oidc-authenticate.ts");
  return oidcAuthenticate({
    issuer: settings.oidc_issuer!,
    audience: settings.oidc_audience!,
    jwksUrl: settings.oidc_jwks_url,
    scopes: { read: settings.oidc_read_scope, write: settings.oidc_write_scope },
  });
}

type AuthSettings = Pick<Settings, "auth" | "host" | "oidc_issuer" | "oidc_audience" | "oidc_jwks_url">;

/**
 * Refuses settings that would let in anyone from anywhere: no authentication on another than a loopback address, or
 * OIDC without an issuer or an audience, or with keys that come over plain http from another machine.
 *
 * @throws MucastError invalid_request.
 */
export function checkAuthAllowed(settings: AuthSettings): void {
  if (settings.auth === "none" && !isLoopbackName(settings.host)) {
    throw refused(
      "auth",
      settings.auth,
      `auth is "none" and host is "${settings.host}", which others can reach: set auth to "keys" ` +
        "(`mucast keys create` makes one) or to oidc, or listen on 127.0.0.1",
    );
  }
  if (settings.auth !== "oidc") return;
  for (const name of ["oidc_issuer", "oidc_audience"] as const) {
    if (settings[name] === undefined || settings[name] === "") {
      throw refused(name, settings[name], `auth is "oidc" and ${name} is missing`);
    }
  }
  for (const name of ["oidc_issuer", "oidc_jwks_url"] as const) {
    const url = settings[name];
    if (url !== undefined && !isTrusted(new URL(url))) {
      throw refused(name, url, `${name} must be https: whoever answers there says who may come in`);
    }
  }
}

function isTrusted({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || isLoopbackName(hostname);
}

function refused(path: string, value: unknown, message: string): MucastError {
  return new MucastError("invalid_request", message, { path, value });
}

/** Whether a host name or address (an IPv6 one with or without brackets) is this machine, whatever a DNS says. */
export function isLoopbackName(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}
