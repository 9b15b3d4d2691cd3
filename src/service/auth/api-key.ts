import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Caller } from "../operations/operations.ts";
import { type Authenticate, bearerToken, unauthorized } from "./authenticate.ts";
import type { KeyStore } from "./key-store.ts";

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

/** The parts of `mucast_<id>_<secret>`. */
export interface ApiKeyParts {
  readonly id: string;
  readonly secret: string;
}

const ID_BYTES = 8;
const SECRET_BYTES = 32;
const API_KEY = /^mucast_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;

/** A new key: 64 random bits to name it, 256 to prove it. */
export function newApiKey(): ApiKeyParts & { readonly token: string } {
  const id = randomBytes(ID_BYTES).toString("hex");
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  return { id, secret, token: `mucast_${id}_${secret}` };
}

/** @returns undefined for a token that is no key of this service. */
export function parseApiKey(token: string): ApiKeyParts | undefined {
  const [, id, secret] = API_KEY.exec(token) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** What is stored of a random secret: its SHA-256 in hex. Being random and long, it needs no salt. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Whether a secret is that of a hash; takes as long whatever is different. */
export function isSecretOf(hash: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(secretHash(secret)), Buffer.from(hash.padEnd(64).slice(0, 64)));
}
