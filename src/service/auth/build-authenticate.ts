import type { Settings } from "../../contract/settings.ts";
import { type Caller, SCOPES } from "../operations.ts";
import { type Authenticate, LOCAL_SUBJECT } from "./authenticate.ts";
import { tokenIn } from "./bearer-token.ts";
import { checkAuthAllowed } from "./check-auth-allowed.ts";
import { keyAuthenticate } from "./key-authenticate.ts";
import type { KeyStore } from "./key-store.ts";
import { isSecretOf, secretHash } from "./secret.ts";

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
