import { createHash, timingSafeEqual } from "node:crypto";

/** What is stored of a random secret: its SHA-256 in hex. Being random and long, it needs no salt. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Whether a secret is that of a hash; takes as long whatever is different. */
export function isSecretOf(hash: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(secretHash(secret)), Buffer.from(hash.padEnd(64).slice(0, 64)));
}
