import { isSecretOf, parseApiKey } from "./api-key.ts";
import { type Authenticate, bearerToken, unauthorized } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import type { KeyStore } from "./key-store.ts";

/** The hash of no secret. With it, an unknown key takes as long to refuse as a wrong secret. */
const NO_SECRETS_HASH = "0".repeat(64);

/** Authentication by API key. It reads the key at every request, so a revoked key is refused at once. */
export function keyAuthenticate(keys: KeyStore): Authenticate {
  return async (authorization): Promise<Caller> => {
    const parts = parseApiKey(bearerToken(authorization));
    if (parts === undefined) throw unauthorized("the token is not a key of this service");
    const stored = await keys.find(parts.id);
    const isRight = isSecretOf(stored?.hash ?? NO_SECRETS_HASH, parts.secret);
    if (stored === undefined || !isRight) throw unauthorized("the key is unknown, wrong or revoked");
    await keys.recordUse(parts.id);
    return { subject: stored.subject, scopes: new Set(stored.scopes) };
  };
}
