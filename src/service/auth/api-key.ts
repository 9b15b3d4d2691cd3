import { randomBytes } from "node:crypto";

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
