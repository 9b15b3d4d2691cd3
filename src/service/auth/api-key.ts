import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** The parts of `mucast_<id>_<secret>`. */
interface ApiKeyParts {
  readonly id: string;
  readonly secret: string;
}

const ID_BYTES = 8;
const SECRET_BYTES = 32;
const API_KEY = /^mucast_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;

/** Makes a key with a random id of 64 bits and a random secret of 256 bits. */
export function newApiKey(): ApiKeyParts & { readonly token: string } {
  const id = randomBytes(ID_BYTES).toString("hex");
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  return { id, secret, token: `mucast_${id}_${secret}` };
}

/** @returns undefined for a token without the form of a key. */
export function parseApiKey(token: string): ApiKeyParts | undefined {
  const [, id, secret] = API_KEY.exec(token) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** The stored form of a secret: its SHA-256 in hex. A long random secret needs no salt. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Whether a hash is that of a secret, compared in constant time. */
export function isSecretOf(hash: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(secretHash(secret)), Buffer.from(hash.padEnd(64).slice(0, 64)));
}
