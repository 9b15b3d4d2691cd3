import { z } from "zod";
import { causeOf } from "../../contract/errors/system-error.ts";
import { type KeySet, readKeySet } from "./key-set.ts";

const FETCH_MILLISECONDS = 5_000;
/** Maximum size of an answer. A discovery document or a key set has some kilobytes. */
const MAX_ANSWER_BYTES = 2 ** 20;

export interface IssuerAddress {
  readonly issuer: string;
  /** URL of the issuer's keys; if missing, OpenID discovery finds it. */
  readonly jwksUrl?: string | undefined;
}

/**
 * Creates a function that reads the issuer's keys. It keeps the discovered URL until the keys cannot be read there.
 *
 * The function throws an Error that names the URL and the cause, for the log and not for callers.
 */
export function keySetReader({ issuer, jwksUrl }: IssuerAddress): () => Promise<KeySet> {
  let discovered: string | undefined;
  return async () => {
    const url = jwksUrl ?? discovered ?? (await discoverJwksUrl(issuer));
    discovered = undefined;
    const keys = await readJson(url, readKeySet);
    discovered = url;
    return keys;
  };
}

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/** The URL of an issuer's keys, from its OpenID Connect discovery document, which must belong to this issuer. */
function discoverJwksUrl(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  return readJson(url, (document) => {
    const metadata = metadataSchema.safeParse(document);
    if (!metadata.success) throw new Error("it is no discovery document");
    const { issuer: named, jwks_uri } = metadata.data;
    if (named !== issuer) throw new Error(`it belongs to the issuer ${named}, not to ${issuer}`);
    // No downgrade: the keys of an https issuer must come over https.
    if (url.startsWith("https:") && !jwks_uri.startsWith("https:"))
      throw new Error("its jwks_uri is not https");
    return jwks_uri;
  });
}

/** Fetches a document of JSON and reads it. @throws Error with the URL and the cause. */
async function readJson<T>(url: string, read: (document: unknown) => T): Promise<T> {
  try {
    const answer = await fetch(url, {
      redirect: "error",
      signal: AbortSignal.timeout(FETCH_MILLISECONDS),
      headers: { accept: "application/json, application/jwk-set+json" },
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new Error(`it answers ${answer.status}`);
    }
    return read(JSON.parse(await boundedText(answer)));
  } catch (error) {
    const reason = error instanceof TypeError ? (error.cause ?? error) : error;
    throw new Error(`${url} cannot be used: ${causeOf(reason)}`, { cause: error });
  }
}

/** The body as text, up to 1 MiB after decompression. @throws Error for a longer one, whose connection it closes. */
async function boundedText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  // An error that leaves the loop cancels the body, which closes the connection.
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`it answers with more than ${MAX_ANSWER_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
