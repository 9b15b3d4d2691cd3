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

type OidcScope = Exclude<Scope, "admin">;

export interface OidcOptions {
  readonly issuer: string;
  readonly audience: string;
  /** URL of the issuer's keys; OpenID discovery finds it where it is missing. */
  readonly jwksUrl?: string | undefined;
  /** The names of this service's scopes in a token. No token gives `admin`. */
  readonly scopes: Readonly<Record<OidcScope, string>>;
  /** Milliseconds after a fetch of the keys during which an unknown key causes no other fetch; 30 s by default. */
  readonly cooldown?: number;
}

/** Asymmetric algorithms only: the service can check a token and must not be able to make one. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const CLOCK_SKEW_SECONDS = 30;
const FETCH_MILLISECONDS = 5_000;
const KEYS_KEPT_MILLISECONDS = 10 * 60_000;
const LONGEST_SUBJECT = 255;

/**
 * Authentication by an access token (JWT) of an OIDC issuer. It fetches the issuer's keys for the first token, keeps
 * them for ten minutes, and fetches them again when a token names a new key.
 */
export function oidcAuthenticate(options: OidcOptions): Authenticate {
  const keys = keysOf(options);
  return async (authorization) => {
    const claims = await verified(bearerToken(authorization), await keys(), options);
    return { subject: `oidc:${claims.sub}`, scopes: scopesOf(claims, options.scopes) };
  };
}

/** The issuer's keys. After a discovery that failed, the next token causes another one. */
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

/** jose accepts any JSON as `sub`. PostgreSQL stores no NUL, and stores all lone surrogates as the same character. */
function isSubject(sub: unknown): boolean {
  return (
    typeof sub === "string" && sub !== "" && sub.length <= LONGEST_SUBJECT && !/[\p{Cc}\p{Cs}]/u.test(sub)
  );
}

/** unauthorized for a wrong token; unavailable, which a caller may try again, where the issuer's keys cannot be read. */
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
  // jose throws its base class for an answer of the issuer that is no key set.
  return !(error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) && !isPlain(error);
}

function isPlain(error: errors.JOSEError): boolean {
  return error.code === errors.JOSEError.code;
}

/** Scopes are in the claim `scope` (RFC 9068), `scp` or `roles` (Microsoft Entra), as words or as a list. */
function scopesOf(claims: JWTPayload, names: OidcOptions["scopes"]): ReadonlySet<Scope> {
  const held = new Set([claims.scope, claims.scp, claims.roles].flatMap(words));
  const scopes = Object.keys(names) as OidcScope[];
  return new Set(scopes.filter((scope) => held.has(names[scope])));
}

function words(claim: unknown): string[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim.filter((word) => typeof word === "string") : [];
}

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/**
 * The URL of an issuer's keys, from its OpenID Connect discovery document.
 *
 * @param timeout milliseconds.
 * @throws MucastError unavailable where that document cannot be read or is that of another issuer.
 */
async function discoverJwksUrl(issuer: string, timeout: number): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const metadata = metadataSchema.safeParse(await fetchJson(url, timeout));
  if (!metadata.success) throw unavailable(`${url} is no discovery document`);
  const { issuer: named, jwks_uri } = metadata.data;
  if (named !== issuer) throw unavailable(`${url} is that of the issuer ${named}, not of ${issuer}`);
  // No downgrade: the keys of an https issuer have to come over https.
  if (url.startsWith("https:") && !jwks_uri.startsWith("https:"))
    throw unavailable(`jwks_uri of ${url} is not https`);
  return jwks_uri;
}

async function fetchJson(url: string, timeout: number): Promise<unknown> {
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

/** Bytes of an answer. A discovery document or a key set has some kilobytes. */
const MOST_BYTES = 2 ** 20;

/**
 * Like `fetch`, but reads the whole body, up to 1 MiB after decompression.
 *
 * @throws MucastError unavailable for a longer body, whose connection it closes; what `fetch` throws.
 */
async function boundedFetch(url: string, init: RequestInit): Promise<Response> {
  const { body, status } = await fetch(url, init);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  // An error that leaves the loop cancels the body, which closes the connection.
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw tooLong(url);
    pieces.push(piece);
  }
  // The constructor of Response throws for a body with these statuses.
  const isBare = [204, 205, 304].includes(status);
  return new Response(isBare ? null : Buffer.concat(pieces), { status });
}

function tooLong(url: string): MucastError {
  return new MucastError("unavailable", `${url} answers with more than ${MOST_BYTES} bytes`);
}
