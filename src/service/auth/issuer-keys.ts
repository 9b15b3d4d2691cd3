import { z } from "zod";
import { causeOf } from "../../contract/errors/system-error.ts";
import { readWholeJson } from "../../contract/json/whole-json.ts";
import type { Log } from "../telemetry/log.ts";
import { uncheckable } from "./authenticate.ts";
import { type KeySet, readKeySet } from "./key-set.ts";

interface IssuerKeysOptions {
  /** Reads the issuer's keys. */
  readonly read: () => Promise<KeySet>;
  /** How long keys are used while the issuer is unreachable. */
  readonly keysSeconds: number;
  readonly log: Pick<Log, "info" | "warn">;
}

/** After this time the service reads the issuer's keys again, so that removed keys become invalid. */
const FRESH_MILLISECONDS = 10 * 60_000;
/** After a fetch, unknown keys cause no other fetch for this long. */
const COOLDOWN_MILLISECONDS = 30_000;
const MIN_RETRY_MILLISECONDS = 5_000;
const MAX_RETRY_MILLISECONDS = 60_000;

interface Failure {
  readonly error: unknown;
  readonly retryMilliseconds: number;
  readonly retryAt: number;
}

/**
 * The keys of an OIDC issuer, cached for ten minutes, and longer while the issuer is unreachable. Only one fetch runs at a time.
 * After a failed one, the service does not ask again for 5 s, then 10, 20, 40 and 60 s.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #known: { readonly keys: KeySet; readonly fetchedAt: number } | undefined;
  #failure: Failure | undefined;
  #fetching: Promise<KeySet> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The keys to check a token with. @throws MucastError unavailable if none are known and the issuer is unreachable. */
  async current(): Promise<KeySet> {
    const known = this.#known;
    if (known === undefined || !this.#isUsable) return this.#fetched();
    if (this.#age < FRESH_MILLISECONDS) return known.keys;
    const isAway = this.#failedLately;
    // A failed fetch is logged and repeated later.
    const renewed = this.#fetched().catch(() => known.keys);
    return isAway ? known.keys : renewed;
  }

  /**
   * The keys for a token whose key is not in the set `tried`.
   *
   * @returns undefined if the issuer has no others.
   * @throws MucastError unavailable if the issuer is unreachable.
   */
  async newerThan(tried: KeySet): Promise<KeySet | undefined> {
    if (this.#known !== undefined && this.#known.keys !== tried) return this.#known.keys;
    return this.#age < COOLDOWN_MILLISECONDS ? undefined : this.#fetched();
  }

  get #age(): number {
    return this.#known === undefined ? Number.POSITIVE_INFINITY : performance.now() - this.#known.fetchedAt;
  }

  get #isUsable(): boolean {
    return this.#age < this.#options.keysSeconds * 1_000;
  }

  /** Whether a request need not wait for the issuer. A failure before a period without requests says nothing about the issuer now. */
  get #failedLately(): boolean {
    return this.#failure !== undefined && performance.now() < this.#failure.retryAt + MAX_RETRY_MILLISECONDS;
  }

  /** The keys from the fetch in progress, or else from a new one. */
  async #fetched(): Promise<KeySet> {
    if (this.#fetching === undefined) {
      const wait = this.#failure === undefined ? 0 : this.#failure.retryAt - performance.now();
      if (wait > 0) throw uncheckable(Math.ceil(wait / 1_000), this.#failure!.error);
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = undefined;
      });
    }
    return this.#fetching;
  }

  async #fetch(): Promise<KeySet> {
    const { read, log } = this.#options;
    let keys: KeySet;
    try {
      keys = await read();
    } catch (error) {
      const retryMilliseconds = this.#nextRetry();
      this.#failure = { error, retryMilliseconds, retryAt: performance.now() + retryMilliseconds };
      const effect = this.#isUsable ? "tokens are checked by the known keys" : "no token can be checked";
      log.warn({ err: error }, `the keys of the OIDC issuer cannot be read; ${effect}`);
      throw uncheckable(retryMilliseconds / 1_000, error);
    }
    if (this.#failure !== undefined) log.info({}, "the keys of the OIDC issuer can be read again");
    if (keys.jwks().keys.length === 0) log.warn({}, "the OIDC issuer has no key that this service can use");
    this.#failure = undefined;
    this.#known = { keys, fetchedAt: performance.now() };
    return keys;
  }

  #nextRetry(): number {
    const last = this.#failure?.retryMilliseconds;
    return last === undefined ? MIN_RETRY_MILLISECONDS : Math.min(last * 2, MAX_RETRY_MILLISECONDS);
  }
}

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
    if (!metadata.success) throw new Error("it is not an OpenID discovery document");
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
    // A larger body is cancelled, which closes the connection.
    const json = await readWholeJson(answer.body ?? [], MAX_ANSWER_BYTES);
    if ("isTooLarge" in json) throw new Error(`it answers with more than ${MAX_ANSWER_BYTES} bytes`);
    if ("fault" in json) throw new Error(json.fault);
    return read(json.value);
  } catch (error) {
    const reason = error instanceof TypeError ? (error.cause ?? error) : error;
    throw new Error(`${url} cannot be used: ${causeOf(reason)}`, { cause: error });
  }
}
