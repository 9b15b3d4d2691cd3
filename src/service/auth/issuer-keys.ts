import type { Log } from "../telemetry/log.ts";
import { uncheckable } from "./authenticate.ts";
import type { KeySet } from "./key-set.ts";

export interface IssuerKeysOptions {
  /** Reads the issuer's keys. */
  readonly read: () => Promise<KeySet>;
  /** How long keys are used while the issuer cannot be asked. */
  readonly keysSeconds: number;
  readonly log: Pick<Log, "info" | "warn">;
  /** A clock in milliseconds that no one sets back. */
  readonly now?: () => number;
}

/** After it the service asks the issuer for its keys again, so that a key that the issuer has removed ends. */
const FRESH_MILLISECONDS = 10 * 60_000;
/** After a fetch, unknown keys cause no other one for so long. */
const COOLDOWN_MILLISECONDS = 30_000;
const MIN_RETRY_MILLISECONDS = 5_000;
const MAX_RETRY_MILLISECONDS = 60_000;

interface Failure {
  readonly error: unknown;
  readonly retryMilliseconds: number;
  readonly retryAt: number;
}

/**
 * The keys of an OIDC issuer, kept for ten minutes, and longer while the issuer cannot be asked. One fetch runs at a time, and
 * after one that failed the service asks no more for 5 s, then 10, 20, 40 and 60 s.
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

  /** The keys to check a token by. @throws MucastError unavailable where none are known and the issuer cannot be asked. */
  async current(): Promise<KeySet> {
    const known = this.#known;
    if (known === undefined || !this.#isUsable) return this.#fetched();
    if (this.#age < FRESH_MILLISECONDS) return known.keys;
    const isAway = this.#failedLately;
    // A fetch that fails is logged, and tried again later.
    const renewed = this.#fetched().catch(() => known.keys);
    return isAway ? known.keys : renewed;
  }

  /**
   * The keys for a token whose key is not in the set `tried`.
   *
   * @returns undefined where the issuer has none but these.
   * @throws MucastError unavailable where the issuer cannot be asked.
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

  /** Whether a request need not wait for the issuer. A failure before a time without requests says nothing about the issuer now. */
  get #failedLately(): boolean {
    return this.#failure !== undefined && this.#now() < this.#failure.retryAt + MAX_RETRY_MILLISECONDS;
  }

  /** The keys that the fetch in progress brings, or else a new one. */
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
