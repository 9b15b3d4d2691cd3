/** The limits of one caller or one address: requests per minute, parallel requests, parallel downloads. */
import type { ServerResponse } from "node:http";
import { MucastError } from "../../../contract/errors/errors.ts";

interface Bucket {
  tokens: number;
  /** Milliseconds of `performance.now`. */
  filledAt: number;
}

/** A new bucket replaces the one that was used longest ago. */
const MAX_BUCKETS = 20_000;

/** A number of requests per minute for each key. A key may use them all at once; its bucket refills steadily. */
export class TokenBuckets {
  readonly #perMinute: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
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
    const now = performance.now();
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

/** Maximum numbers of answers of one kind in progress. */
interface AnswerLimits {
  readonly ofCaller: number;
  /** Of all callers together; without it there is no maximum. */
  readonly all?: number;
  /** What they are, in the plural. */
  readonly what: string;
}

/** Enough for one event stream for each job of a caller's full queue, and some more. */
const MAX_OPEN_REQUESTS = 2_000;

/**
 * The limits of all requests that the service is answering: one caller may use half of the connections. The rate limits only how fast
 * requests come; event streams and waits last, and each costs memory and database queries.
 */
export function requestLimits(connections: number): AnswerLimits {
  return { ofCaller: Math.min(MAX_OPEN_REQUESTS, Math.ceil(connections / 2)), what: "requests" };
}

type Closable = Pick<ServerResponse, "once" | "destroyed">;

/** Limits the answers of one kind in progress, per caller and in total. */
export class OpenAnswers {
  readonly #limits: AnswerLimits;
  readonly #bySubject = new Map<string, number>();
  #all = 0;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /** Counts an answer until its response closes. @throws MucastError rate_limited, unavailable. */
  begin(subject: string, response: Closable): void {
    // A response that is already closed would emit no further `close` and stay counted.
    if (response.destroyed) return;
    const own = this.#bySubject.get(subject) ?? 0;
    const { ofCaller, all = Number.POSITIVE_INFINITY, what } = this.#limits;
    if (own >= ofCaller) throw refusal("rate_limited", `${own} ${what} of this caller`);
    if (this.#all >= all) throw refusal("unavailable", `${this.#all} ${what}`);
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

function refusal(code: "rate_limited" | "unavailable", what: string): MucastError {
  return new MucastError(code, `${what} are in progress already`, { retryAfter: RETRY_SECONDS });
}
