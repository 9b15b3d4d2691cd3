import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { createLocalJWKSet, type JWK } from "jose";
import { z } from "zod";

/** Finds the key that a token names. A token without a key id may match several keys. */
export type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Only asymmetric algorithms: the service can check tokens, but must not be able to create them. */
export const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** Limits the number of signature checks for one token without a key id. */
const MAX_KEYS = 100;
const MIN_RSA_BITS = 2_048;
const CURVES = ["P-256", "P-384", "P-521", "Ed25519"];

const keySetSchema = z.looseObject({ keys: z.array(z.unknown()) });

/** A public key for signatures. `d` is the private part. */
const memberSchema = z.looseObject({
  kty: z.enum(["RSA", "EC", "OKP"]),
  kid: z.string().optional(),
  alg: z.enum(ALGORITHMS).optional(),
  use: z.literal("sig").optional(),
  key_ops: z
    .array(z.unknown())
    .refine((operations) => operations.includes("verify"))
    .optional(),
  d: z.never().optional(),
});

/**
 * The keys of a JSON Web Key Set with which this service can check tokens, at most the first 100. Members of another kind, such as
 * encryption keys, and unreadable members are skipped and do not affect the others.
 *
 * @throws Error if the document is not a key set.
 */
export function readKeySet(document: unknown): KeySet {
  const read = keySetSchema.safeParse(document);
  if (!read.success) throw new Error("it is not a JSON Web Key Set");
  const keys: JWK[] = [];
  for (const member of read.data.keys) {
    const key = usableKey(member);
    if (key !== undefined) keys.push(key);
    if (keys.length === MAX_KEYS) break;
  }
  return createLocalJWKSet({ keys });
}

/** The member reduced to the key itself and the fields that jose selects keys by. */
function usableKey(member: unknown): JWK | undefined {
  const read = memberSchema.safeParse(member);
  if (!read.success) return undefined;
  const key = importedKey(read.data);
  if (key === undefined) return undefined;
  const jwk = key.export({ format: "jwk" });
  const isStrong =
    jwk.kty === "RSA"
      ? key.asymmetricKeyDetails!.modulusLength! >= MIN_RSA_BITS
      : CURVES.includes(jwk.crv ?? "");
  if (!isStrong) return undefined;
  const { kid, alg } = read.data;
  return { ...jwk, ...(kid === undefined ? {} : { kid }), ...(alg === undefined ? {} : { alg }) } as JWK;
}

/** @returns undefined for a member that is not a key, such as a point that is not on its curve. */
function importedKey(member: object): KeyObject | undefined {
  try {
    return createPublicKey({ key: member as JsonWebKey, format: "jwk" });
  } catch {
    return undefined;
  }
}
