import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type ExportedJWKSCache,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwksCache,
  jwtVerify,
} from "jose";
import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Settings } from "../../contract/settings.ts";
import type { Log } from "../telemetry/log.ts";
import { type Authenticate, bearerToken, unauthorized } from "./authenticate.ts";
import type { Scope } from "./caller.ts";

/** Only asymmetric algorithms: the service can check tokens, but must not be able to create them. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const CLOCK_SKEW_SECONDS = 30;
const MAX_SUBJECT_LENGTH = 255;

/** Authentication by an access token (JWT) of an OIDC issuer. @param subjectOf of a `sub` of this issuer. */
export function oidcAuthenticate(
  settings: Settings,
  subjectOf: (sub: string) => string,
  log: Log,
): Authenticate {
  const keys = issuerKeys(settings, log);
  const checks: JWTVerifyOptions = {
    issuer: settings.oidc_issuer!,
    audience: settings.oidc_audience!,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_SKEW_SECONDS,
    requiredClaims: ["sub", "exp"],
  };
  return async (authorization) => {
    const token = bearerToken(authorization);
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, checks);
      checkUse(payload, protectedHeader.typ);
      return { subject: subjectOf(payload.sub!), scopes: readScopes(payload, settings) };
    } catch (error) {
      if (error instanceof MucastError || !(error instanceof errors.JOSEError)) throw error;
      // jose's messages name claims, not values.
      throw refused(error.message, error);
    }
  };
}

function checkUse({ sub, cnf }: JWTPayload, typ: unknown): void {
  // By RFC 8725, tokens for another purpose have a type such as `logout+jwt`; `at+jwt` is RFC 9068.
  const isAccessToken =
    typ === undefined || !String(typ).includes("+") || /^(application\/)?at\+jwt$/i.test(String(typ));
  if (!isAccessToken) throw refused("its typ does not name an access token");
  if (cnf !== undefined)
    throw refused(
      "it is bound to a key of its holder (its claim cnf, as by DPoP or mutual TLS), which this service cannot check; " +
        "ask the issuer for a plain bearer token",
    );
  // jose accepts any JSON. PostgreSQL stores no NUL, and stores all lone surrogates as the same character.
  const isText = typeof sub === "string" && sub !== "" && sub.length <= MAX_SUBJECT_LENGTH;
  if (isText && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(sub)) return;
  throw refused(
    `its sub is not a text of 1 to ${MAX_SUBJECT_LENGTH} characters without control characters, line separators and ` +
      "lone surrogates",
  );
}

function refused(why: string, cause?: Error): MucastError {
  return unauthorized(`the token is refused: ${why}`, { cause });
}

/** Scopes are in the claim `scope` (RFC 9068), `scp` or `roles` (Microsoft Entra), space-separated or as a list. */
function readScopes(claims: JWTPayload, settings: Settings): ReadonlySet<Scope> {
  const words = [claims.scope, claims.scp, claims.roles].flatMap((claim) =>
    typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [],
  );
  // No token gives `admin`.
  const scopes = (["read", "write"] as const).filter((scope) =>
    words.includes(settings[`oidc_${scope}_scope`]),
  );
  return new Set(scopes);
}

const RETRY_SECONDS = 30;
const FETCH_MILLISECONDS = 5_000;
/** The issuer's keys could be read, and do not fit the token. */
const ABOUT_TOKEN = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

/** jose caches keys for ten minutes. While the issuer is away, the last known ones are used, and it is asked again after 30 s. */
function issuerKeys(settings: Settings, log: Log): JWTVerifyGetKey {
  const keptMilliseconds = settings.oidc_keys_seconds * 1_000;
  const cache: Partial<ExportedJWKSCache> = {};
  let remote: Promise<JWTVerifyGetKey> | undefined;
  let failure: { readonly error: unknown; readonly retryAt: number } | undefined;

  const openRemote = async () => {
    const url = settings.oidc_jwks_url ?? (await discoverJwksUrl(settings.oidc_issuer!));
    const options = { timeoutDuration: FETCH_MILLISECONDS, [jwksCache]: cache as ExportedJWKSCache };
    return createRemoteJWKSet(new URL(url), options);
  };

  const findKnown: JWTVerifyGetKey = async (header, token) => {
    const { uat = Number.NEGATIVE_INFINITY, jwks } = cache;
    try {
      if (jwks && Date.now() - uat < keptMilliseconds) return await createLocalJWKSet(jwks)(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    // Without a URL: callers without a valid token get this message.
    const message = "the keys of the OIDC issuer cannot be read now";
    const data = { path: "Authorization", retryAfter: RETRY_SECONDS };
    throw new MucastError("unavailable", message, data, { cause: failure?.error });
  };

  return async (header, token) => {
    if (failure !== undefined && performance.now() < failure.retryAt) return findKnown(header, token);
    try {
      remote ??= openRemote();
      const key = await (await remote)(header, token);
      if (failure !== undefined) log.info({}, "the keys of the OIDC issuer can be read again");
      failure = undefined;
      return key;
    } catch (error) {
      if (ABOUT_TOKEN.some((kind) => error instanceof kind)) throw error;
      // The issuer may have moved its keys.
      remote = undefined;
      failure = { error, retryAt: performance.now() + RETRY_SECONDS * 1_000 };
      log.warn({ err: error }, "the keys of the OIDC issuer cannot be read; the known keys are used");
      return findKnown(header, token);
    }
  };
}

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

async function discoverJwksUrl(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const signal = AbortSignal.timeout(FETCH_MILLISECONDS);
  const answer = await fetch(url, { redirect: "error", signal });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  const { issuer: named, jwks_uri } = metadataSchema.parse(await answer.json());
  if (named !== issuer) throw new Error(`${url} belongs to the issuer ${named}, not to ${issuer}`);
  // No downgrade: the keys of an https issuer must come over https.
  if (url.startsWith("https:") && !jwks_uri.startsWith("https:")) {
    throw new Error(`the jwks_uri of ${url} is not https`);
  }
  return jwks_uri;
}
