import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Scope } from "../operations/operations.ts";
import { type Authenticate, bearerToken, unauthorized } from "./authenticate.ts";

export interface OidcOptions {
  readonly issuer: string;
  readonly audience: string;
  /** Found by OpenID discovery where it is missing. */
  readonly jwksUrl?: string | undefined;
  /** What a token calls the scopes of this service. */
  readonly scopes: { readonly read: string; readonly write: string };
  /** Milliseconds after a fetch of the keys in which an unknown one does not cause another; 30 s by default. */
  readonly cooldown?: number;
}

/** Asymmetric ones only: whoever can check a token must not be able to make one. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const CLOCK_SKEW_SECONDS = 30;
const FETCH_MILLISECONDS = 5_000;
const KEYS_KEPT_MILLISECONDS = 10 * 60_000;
const LONGEST_SUBJECT = 255;

/**
 * Callers by the access token (JWT) of an OIDC issuer. Its keys are fetched when they are first needed, kept for ten
 * minutes, and fetched again where a token names a new one.
 */
export function oidcAuthenticate(options: OidcOptions): Authenticate {
  const keys = keysOf(options);
  return async (authorization) => {
    const claims = await verified(bearerToken(authorization), await keys(), options);
    return { subject: `oidc:${claims.sub}`, scopes: scopesOf(claims, options.scopes) };
  };
}

/** The issuer's keys; a discovery that failed is tried again at the next token. */
function keysOf(options: OidcOptions): () => Promise<JWTVerifyGetKey> {
  let found: Promise<JWTVerifyGetKey> | undefined;
  return () => {
    found ??= remoteKeys(options).catch((error) => {
      found = undefined;
      throw error;
    });
    return found;
  };
}

async function remoteKeys({ issuer, jwksUrl, cooldown }: OidcOptions): Promise<JWTVerifyGetKey> {
  const url = jwksUrl ?? (await discoverJwksUrl(issuer, FETCH_MILLISECONDS));
  return createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_MILLISECONDS,
    cacheMaxAge: KEYS_KEPT_MILLISECONDS,
    [customFetch]: boundedFetch,
    ...(cooldown === undefined ? {} : { cooldownDuration: cooldown }),
  });
}

async function verified(token: string, keys: JWTVerifyGetKey, options: OidcOptions): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: options.issuer,
      audience: options.audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ["sub", "exp"],
    });
    if (!isSubject(payload.sub)) throw unauthorized("the token's sub is odd");
    return payload;
  } catch (error) {
    throw refusal(error);
  }
}

/** The library takes whatever JSON a claim holds; PostgreSQL takes no NUL, and all lone surrogates as one. */
function isSubject(sub: unknown): boolean {
  return (
    typeof sub === "string" && sub !== "" && sub.length <= LONGEST_SUBJECT && !/[\p{Cc}\p{Cs}]/u.test(sub)
  );
}

/** The token's fault, or the issuer's: only where its keys cannot be had may it be tried again. */
function refusal(error: unknown): unknown {
  if (error instanceof MucastError) return error;
  if (isTokensFault(error)) return unauthorized(`the token is refused: ${error.message}`, { cause: error });
  return new MucastError(
    "unavailable",
    "the keys of the OIDC issuer cannot be read now",
    {},
    { cause: error },
  );
}

function isTokensFault(error: unknown): error is errors.JOSEError {
  if (!(error instanceof errors.JOSEError)) return false;
  // Of the plain class are answers of the issuer that are no key set.
  return !(error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) && !isPlain(error);
}

function isPlain(error: errors.JOSEError): boolean {
  return error.code === errors.JOSEError.code;
}

/** Scopes stand in `scope` (RFC 9068), `scp` or `roles` (Microsoft Entra), as words or as a list. */
function scopesOf(claims: JWTPayload, names: OidcOptions["scopes"]): ReadonlySet<Scope> {
  const held = new Set([claims.scope, claims.scp, claims.roles].flatMap(words));
  return new Set((["read", "write"] as const).filter((scope) => held.has(names[scope])));
}

function words(claim: unknown): string[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim.filter((word) => typeof word === "string") : [];
}

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/**
 * Where an issuer's keys are, as its OpenID Connect discovery document says.
 *
 * @param timeout milliseconds.
 * @throws MucastError unavailable where there is no such document, or where it is another issuer's.
 */
export async function discoverJwksUrl(issuer: string, timeout: number): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const metadata = metadataSchema.safeParse(await fetched(url, timeout));
  if (!metadata.success) throw unavailable(`${url} is no discovery document`);
  const { issuer: named, jwks_uri } = metadata.data;
  if (named !== issuer) throw unavailable(`${url} is that of the issuer ${named}, not of ${issuer}`);
  // No step down: keys of an https issuer come over https.
  if (url.startsWith("https:") && !jwks_uri.startsWith("https:"))
    throw unavailable(`jwks_uri of ${url} is not https`);
  return jwks_uri;
}

async function fetched(url: string, timeout: number): Promise<unknown> {
  try {
    const answer = await boundedFetch(url, { redirect: "error", signal: AbortSignal.timeout(timeout) });
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
    return await answer.json();
  } catch (error) {
    throw unavailable(`${url} cannot be read now: ${(error as Error).message}`, error);
  }
}

function unavailable(message: string, cause?: unknown): MucastError {
  return new MucastError("unavailable", message, {}, { cause });
}

/** A discovery document or a key set has some kilobytes. */
const MOST_BYTES = 2 ** 20;

/**
 * As `fetch`, with the body read whole: no more of it than 1 MiB, decompressed.
 * @throws MucastError unavailable for a longer one, whose connection is closed; what `fetch` throws.
 */
export async function boundedFetch(url: string, init: RequestInit): Promise<Response> {
  const { body, status } = await fetch(url, init);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the body, and with it the connection.
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw tooLong(url);
    pieces.push(piece);
  }
  // A Response of these states must have no body.
  const isBare = [204, 205, 304].includes(status);
  return new Response(isBare ? null : Buffer.concat(pieces), { status });
}

function tooLong(url: string): MucastError {
  return new MucastError("unavailable", `${url} answers with more than ${MOST_BYTES} bytes`);
}
