import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import { boundedFetch } from "./bounded-fetch.ts";

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
