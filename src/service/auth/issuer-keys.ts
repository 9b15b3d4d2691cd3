import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type ExportedJWKSCache,
  errors,
  type JWTVerifyGetKey,
  jwksCache,
} from "jose";
import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Log } from "../telemetry/log.ts";

export interface IssuerOptions {
  readonly issuer: string;
  /** URL of the issuer's keys; if missing, OpenID discovery finds it. */
  readonly jwksUrl?: string | undefined;
  /** How long keys are used while the issuer is unreachable. */
  readonly keysSeconds: number;
  readonly log: Pick<Log, "info" | "warn">;
}

/** After a failure, the issuer is not asked again for this long. */
const RETRY_SECONDS = 30;
const FETCH_MILLISECONDS = 5_000;

/**
 * Finds the key of a token among those of an OIDC issuer. jose caches them for ten minutes and reads them again for a token with an
 * unknown key, at most every 30 s. While the issuer cannot be reached, the last known keys are used.
 *
 * It throws MucastError unavailable for a token that no known key can check while the issuer is unreachable.
 */
export function issuerKeys({ issuer, jwksUrl, keysSeconds, log }: IssuerOptions): JWTVerifyGetKey {
  const cache: Partial<ExportedJWKSCache> = {};
  let remote: Promise<ReturnType<typeof createRemoteJWKSet>> | undefined;
  let failure: { readonly error: unknown; readonly retryAt: number } | undefined;

  const findKnown: JWTVerifyGetKey = async (header, token) => {
    const { uat = Number.NEGATIVE_INFINITY, jwks } = cache;
    try {
      if (jwks && Date.now() - uat < keysSeconds * 1_000) return await createLocalJWKSet(jwks)(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    // Without a URL: callers without a valid token get this message.
    throw new MucastError(
      "unavailable",
      "the keys of the OIDC issuer cannot be read now",
      { path: "Authorization", retryAfter: RETRY_SECONDS },
      { cause: failure?.error },
    );
  };

  return async (header, token) => {
    if (failure !== undefined && performance.now() < failure.retryAt) return findKnown(header, token);
    try {
      remote ??= openRemote(jwksUrl ?? discoverJwksUrl(issuer), cache);
      const key = await (await remote)(header, token);
      if (failure !== undefined) log.info({}, "the keys of the OIDC issuer can be read again");
      failure = undefined;
      return key;
    } catch (error) {
      if (isAboutToken(error)) throw error;
      // The issuer may have moved its keys.
      remote = undefined;
      failure = { error, retryAt: performance.now() + RETRY_SECONDS * 1_000 };
      log.warn({ err: error }, "the keys of the OIDC issuer cannot be read; the known keys are used");
      return findKnown(header, token);
    }
  };
}

async function openRemote(url: string | Promise<string>, cache: Partial<ExportedJWKSCache>) {
  return createRemoteJWKSet(new URL(await url), {
    timeoutDuration: FETCH_MILLISECONDS,
    [jwksCache]: cache as ExportedJWKSCache,
  });
}

/** Whether the issuer's keys could be read, and do not fit the token. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/** The URL of an issuer's keys, from its OpenID Connect discovery document. @throws Error with the URL and the cause. */
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
