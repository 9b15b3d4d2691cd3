import type { Log } from "../telemetry/log.ts";
import { uncheckable } from "./authenticate.ts";
import type { KeySet } from "./key-set.ts";

export interface IssuerKeysOptions {
  /** Reads the issuer's keys. */
  readonly read: () => Promise<KeySet>;
  /** How long keys are used while the issuer is unreachable. */
  readonly keysSeconds: number;
  readonly log: Pick<Log, "info" | "warn">;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
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
  readonly #now: () => number;
  #known: { readonly keys: KeySet; readonly fetchedAt: number } | undefined;
  #failure: Failure | undefined;
  #fetching: Promise<KeySet> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
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
    return this.#known === undefined ? Number.POSITIVE_INFINITY : this.#now() - this.#known.fetchedAt;
  }

  get #isUsable(): boolean {
    return this.#age < this.#options.keysSeconds * 1_000;
  }

  /** Whether a request need not wait for the issuer. A failure before a period without requests says nothing about the issuer now. */
  get #failedLately(): boolean {
    return this.#failure !== undefined && this.#now() < this.#failure.retryAt + MAX_RETRY_MILLISECONDS;
  }

  /** The keys from the fetch in progress, or else from a new one. */
  async #fetched(): Promise<KeySet> {
    if (this.#fetching === undefined) {
      const wait = this.#failure === undefined ? 0 : this.#failure.retryAt - this.#now();
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
      this.#failure = { error, retryMilliseconds, retryAt: this.#now() + retryMilliseconds };
      const effect = this.#isUsable ? "tokens are checked by the known keys" : "no token can be checked";
      log.warn({ err: error }, `the keys of the OIDC issuer cannot be read; ${effect}`);
      throw uncheckable(retryMilliseconds / 1_000, error);
    }
    if (this.#failure !== undefined) log.info({}, "the keys of the OIDC issuer can be read again");
    if (keys.jwks().keys.length === 0) log.warn({}, "the OIDC issuer has no key that this service can use");
    this.#failure = undefined;
    this.#known = { keys, fetchedAt: this.#now() };
    return keys;
  }

  #nextRetry(): number {
    const last = this.#failure?.retryMilliseconds;
    return last === undefined ? MIN_RETRY_MILLISECONDS : Math.min(last * 2, MAX_RETRY_MILLISECONDS);
  }
}
