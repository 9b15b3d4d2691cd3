import {
  decodeProtectedHeader,
  errors,
  type FlattenedJWSInput,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
  UnsecuredJWT,
} from "jose";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Log } from "../telemetry/log.ts";
import { type Authenticate, bearerToken, unauthorized } from "./authenticate.ts";
import type { Scope } from "./caller.ts";
import { type IssuerAddress, IssuerKeys, keySetReader } from "./issuer-keys.ts";
import { ALGORITHMS, type KeySet } from "./key-set.ts";

type OidcScope = Exclude<Scope, "admin">;

export interface OidcOptions extends IssuerAddress {
  readonly audience: string;
  /** The names of this service's scopes in a token. No token gives `admin`. */
  readonly scopes: Readonly<Record<OidcScope, string>>;
  /** The caller of a `sub` of this issuer. */
  readonly subjectOf: (sub: string) => string;
  /** How long the issuer's keys are used while it is unreachable. */
  readonly keysSeconds: number;
  readonly log: Pick<Log, "info" | "warn">;
}

const CLOCK_SKEW_SECONDS = 30;
const MAX_SUBJECT_LENGTH = 255;

/**
 * Authentication by an access token (JWT) of an OIDC issuer. It asks the issuer for its keys only if a token is correct except for
 * its signature.
 */
export function oidcAuthenticate(options: OidcOptions): Authenticate {
  const keys = new IssuerKeys({ ...options, read: keySetReader(options) });
  const checks: JWTVerifyOptions = {
    issuer: options.issuer,
    audience: options.audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_SKEW_SECONDS,
    requiredClaims: ["sub", "exp"],
  };
  return async (authorization) => {
    const claims = await verified(bearerToken(authorization), keys, checks).catch((error: unknown) => {
      throw refusal(error);
    });
    return { subject: options.subjectOf(claims.sub!), scopes: scopesOf(claims, options.scopes) };
  };
}

/** The claims of a token that a key of the issuer has signed. */
async function verified(token: string, keys: IssuerKeys, checks: JWTVerifyOptions): Promise<JWTPayload> {
  let tried: KeySet | undefined;
  const findKey: JWTVerifyGetKey = async (header, jws) => {
    checkUnverified(header, jws, checks);
    tried = await keys.current();
    return tried(header, jws);
  };
  try {
    return await verifiedBy(findKey, token, checks);
  } catch (error) {
    if (tried === undefined || !isOfUnknownKey(error, token)) throw error;
    const newer = await keys.newerThan(tried);
    if (newer === undefined) throw error;
    return await verifiedBy(newer, token, checks);
  }
}

/**
 * Checks everything in a token except its algorithm, which jose has checked, and its signature. It needs no key, so a token that
 * fails here causes no request to the issuer.
 */
function checkUnverified(
  { typ }: JWTHeaderParameters,
  { payload, signature }: FlattenedJWSInput,
  checks: JWTVerifyOptions,
): void {
  if (!isAccessTokenType(typ))
    throw unauthorized("the token is refused: its typ does not name an access token");
  if (signature === "") throw unauthorized("the token is refused: it has no signature");
  const claims: JWTPayload = UnsecuredJWT.decode(`${UNSECURED}.${payload}.`, checks).payload;
  if (!isSubject(claims.sub)) throw unauthorized(SUBJECT);
  if (claims.cnf !== undefined) throw unauthorized(BOUND);
  // JSON allows numbers that are infinite in JavaScript: 1e999.
  if (!Number.isFinite(claims.exp)) throw unauthorized("the token is refused: its exp is not a time");
}

/** The only header with which jose checks only the claims. */
const UNSECURED = Buffer.from('{"alg":"none"}').toString("base64url");

const SUBJECT =
  `the token is refused: its sub is not a text of 1 to ${MAX_SUBJECT_LENGTH} characters without control characters, ` +
  "line separators and lone surrogates";

const BOUND =
  "the token is refused: it is bound to a key of its holder (its claim cnf, as by DPoP or mutual TLS), which this " +
  "service cannot check; ask the issuer for a plain bearer token";

/** By RFC 8725, tokens for another purpose have a type such as `logout+jwt`; `at+jwt` is RFC 9068. */
function isAccessTokenType(typ: unknown): boolean {
  if (typ === undefined) return true;
  return typeof typ === "string" && (!typ.includes("+") || /^(application\/)?at\+jwt$/i.test(typ));
}

/** jose accepts any JSON as `sub`. PostgreSQL stores no NUL, and stores all lone surrogates as the same character. */
function isSubject(sub: unknown): boolean {
  return (
    typeof sub === "string" &&
    sub !== "" &&
    sub.length <= MAX_SUBJECT_LENGTH &&
    !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(sub)
  );
}

/** Checks the signature with the key that the token names, or with each key of its kind. */
async function verifiedBy(
  keys: JWTVerifyGetKey,
  token: string,
  checks: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, checks)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, checks)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWKSNoMatchingKey();
  }
}

/** Whether the issuer may have signed the token with a key that it has added since. */
function isOfUnknownKey(error: unknown, token: string): boolean {
  if (error instanceof errors.JWKSNoMatchingKey) return true;
  const isForged = error instanceof errors.JWSSignatureVerificationFailed;
  return isForged && decodeProtectedHeader(token).kid === undefined;
}

/** unauthorized for a faulty token. jose's messages name claims, not values. */
function refusal(error: unknown): unknown {
  if (error instanceof MucastError || !(error instanceof errors.JOSEError)) return error;
  return unauthorized(`the token is refused: ${error.message}`, { cause: error });
}

/** Scopes are in the claim `scope` (RFC 9068), `scp` or `roles` (Microsoft Entra), space-separated or as a list. */
function scopesOf(claims: JWTPayload, names: OidcOptions["scopes"]): ReadonlySet<Scope> {
  const held = new Set([claims.scope, claims.scp, claims.roles].flatMap(stringList));
  const scopes = Object.keys(names) as OidcScope[];
  return new Set(scopes.filter((scope) => held.has(names[scope])));
}

function stringList(claim: unknown): string[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim.filter((word) => typeof word === "string") : [];
}
