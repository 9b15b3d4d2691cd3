import type { Caller } from "../operations.ts";
import { parseApiKey } from "./api-key.ts";
import type { Authenticate } from "./authenticate.ts";
import { bearerToken, unauthorized } from "./bearer-token.ts";
import type { KeyStore } from "./key-store.ts";
import { isSecretOf } from "./secret.ts";

/** Of no secret: an unknown key takes as long to refuse as a wrong one. */
const NOBODYS_HASH = "0".repeat(64);

/** Callers by their API key, looked up at every request, so that a revoked one is refused at once. */
export function keyAuthenticate(keys: KeyStore): Authenticate {
  return async (authorization): Promise<Caller> => {
    const parts = parseApiKey(bearerToken(authorization));
    if (parts === undefined) throw unauthorized("the token is no key of this service");
    const stored = await keys.find(parts.id);
    const isRight = isSecretOf(stored?.hash ?? NOBODYS_HASH, parts.secret);
    if (stored === undefined || !isRight) throw unauthorized("the key is unknown, wrong or revoked");
    await keys.used(parts.id);
    return { subject: stored.subject, scopes: new Set(stored.scopes) };
  };
}
