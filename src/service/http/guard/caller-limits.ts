/** The limits of one caller or one address: requests per minute, parallel requests, parallel downloads. */
import type { ServerResponse } from "node:http";
import { MucastError } from "../../../contract/errors/errors.ts";

interface Bucket {
  tokens: number;
  /** Milliseconds on the clock `now`. */
  filledAt: number;
}

/** A new bucket replaces the one that was used longest ago. */
const MAX_BUCKETS = 20_000;

/** A number of requests per minute for each key. A key may use them all at once; its bucket refills steadily. */
export class TokenBuckets {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** @returns 0 if it took a token, otherwise the whole seconds until the bucket has one. */
  take(key: string): number {
    const bucket = this.#filled(key);
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (bucket.tokens < 1) return Math.max(1, Math.ceil(((1 - bucket.tokens) * 60) / this.#perMinute));
    bucket.tokens -= 1;
    return 0;
  }

  /** Returns an unused token. */
  refund(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens = Math.min(this.#perMinute, bucket.tokens + 1);
  }

  #filled(key: string): Bucket {
    const now = this.#now();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!);
      return { tokens: this.#perMinute, filledAt: now };
    }
    const since = ((now - bucket.filledAt) / 60_000) * this.#perMinute;
    bucket.tokens = Math.min(this.#perMinute, bucket.tokens + since);
    bucket.filledAt = now;
    return bucket;
  }
}

const RETRY_SECONDS = 5;

/** Enough for one event stream for each job of a caller's full queue, and some more. */
const MAX_OPEN_REQUESTS = 2_000;

/**
 * The requests of each caller that the service is answering.
 *
 * The rate limits only how fast requests come. Event streams and waits last, and each costs memory and database queries.
 */
export class OpenRequests {
  readonly #most: number;
  readonly #open = new OpenAnswers();

  /** @param connections that the service may have open: one caller may use half of them. */
  constructor(connections: number) {
    this.#most = Math.min(MAX_OPEN_REQUESTS, Math.ceil(connections / 2));
  }

  /** Counts a request until its response closes. @throws MucastError rate_limited. */
  begin(subject: string, response: Closable): void {
    this.#open.add(subject, response, (own) => {
      if (own < this.#most) return;
      const message = `${this.#most} requests of this caller are being answered already`;
      throw new MucastError("rate_limited", message, { retryAfter: RETRY_SECONDS });
    });
  }
}

/** Parallel downloads. Each holds a file or a connection to the storage, and some buffers. */
interface DownloadLimits {
  readonly downloads: number;
  readonly downloads_per_caller: number;
}

/** The downloads in progress, per caller and in total. */
export class OpenDownloads {
  readonly #limits: DownloadLimits;
  readonly #open = new OpenAnswers();

  constructor(limits: DownloadLimits) {
    this.#limits = limits;
  }

  /** Counts a download until its response closes. @throws MucastError rate_limited, unavailable. */
  begin(subject: string, response: Closable): void {
    const { downloads, downloads_per_caller } = this.#limits;
    this.#open.add(subject, response, (own, all) => {
      if (own >= downloads_per_caller) {
        const message = `${own} downloads of this caller go on already (downloads_per_caller)`;
        throw new MucastError("rate_limited", message, { retryAfter: RETRY_SECONDS, limit: own });
      }
      if (all >= downloads) {
        const message = `${all} downloads go on already (downloads)`;
        throw new MucastError("unavailable", message, { retryAfter: RETRY_SECONDS, limit: all });
      }
    });
  }
}

/** Maximum number of expensive answers in progress. */
interface WorkLimits {
  readonly ofCaller: number;
  readonly all: number;
  /** What they are, in the plural. */
  readonly what: string;
}

/** Answers of one kind in progress, per caller and in total. */
export class OpenWork {
  readonly #limits: WorkLimits;
  readonly #open = new OpenAnswers();

  constructor(limits: WorkLimits) {
    this.#limits = limits;
  }

  /** Counts one until its response closes. @throws MucastError rate_limited, unavailable. */
  begin(subject: string, response: Closable): void {
    const { ofCaller, all: most, what } = this.#limits;
    this.#open.add(subject, response, (own, all) => {
      const data = { retryAfter: RETRY_SECONDS };
      if (own >= ofCaller)
        throw new MucastError("rate_limited", `${own} ${what} of this caller go on already`, data);
      if (all >= most) throw new MucastError("unavailable", `${all} ${what} go on already`, data);
    });
  }
}

type Closable = Pick<ServerResponse, "once" | "destroyed">;

/** Counts responses by their caller until they close. */
class OpenAnswers {
  readonly #bySubject = new Map<string, number>();
  #all = 0;

  /** @param check throws if the caller's own number, or the total, does not allow one more. */
  add(subject: string, response: Closable, check: (own: number, all: number) => void): void {
    // A response that is already closed would emit no further `close` and stay counted.
    if (response.destroyed) return;
    const own = this.#bySubject.get(subject) ?? 0;
    check(own, this.#all);
    this.#all += 1;
    this.#bySubject.set(subject, own + 1);
    response.once("close", () => this.#remove(subject));
  }

  #remove(subject: string): void {
    this.#all -= 1;
    const own = this.#bySubject.get(subject)! - 1;
    if (own === 0) this.#bySubject.delete(subject);
    else this.#bySubject.set(subject, own);
  }
}
