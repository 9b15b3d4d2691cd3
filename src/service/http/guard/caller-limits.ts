import type { ServerResponse } from "node:http";
import { MucastError } from "../../../contract/errors/errors.ts";

interface Bucket {
  tokens: number;
  /** Milliseconds, of the same clock as `now`. */
  filledAt: number;
}

/** Buckets that are kept; a bucket of a caller who has not been seen for longest is given up for a new one. */
const MOST_BUCKETS = 20_000;

/** So many requests a minute for each key, all of them at once where one likes, refilled steadily. */
export class TokenBuckets {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** @returns 0 where a token was taken, else the whole seconds until there is one. */
  take(key: string): number {
    const bucket = this.#filled(key);
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (bucket.tokens < 1) return Math.max(1, Math.ceil(((1 - bucket.tokens) * 60) / this.#perMinute));
    bucket.tokens -= 1;
    return 0;
  }

  /** Puts a token back that was taken and not used. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens = Math.min(this.#perMinute, bucket.tokens + 1);
  }

  #filled(key: string): Bucket {
    const now = this.#now();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= MOST_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!);
      return { tokens: this.#perMinute, filledAt: now };
    }
    const since = ((now - bucket.filledAt) / 60_000) * this.#perMinute;
    bucket.tokens = Math.min(this.#perMinute, bucket.tokens + since);
    bucket.filledAt = now;
    return bucket;
  }
}

/** What stands for an address: an IPv6 one by its network, since one machine has all of that. */
export function addressKey(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, "");
  if (!plain.includes(":")) return plain;
  const [head, tail] = plain.split("::") as [string, string?];
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  return [...left, ...zeros, ...right].slice(0, 4).join(":");
}

/** Room for a stream of events for each of a caller's jobs in the queue, with some to spare. */
const MOST_OPEN = 2_000;
const RETRY_SECONDS = 5;

/**
 * How many requests of each caller are being answered. A rate bounds how fast they come; streams of events and waits
 * last, and each costs memory and looks at the database.
 */
export class OpenRequests {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  constructor(most = MOST_OPEN) {
    this.#most = most;
  }

  /** Counts a request until its connection is done with it. @throws MucastError rate_limited. */
  begin(subject: string, response: Pick<ServerResponse, "once" | "destroyed">): void {
    // Nobody is there any more, and no end would be heard of.
    if (response.destroyed) return;
    const open = this.#open.get(subject) ?? 0;
    if (open >= this.#most) {
      const message = `${this.#most} requests of this caller are being answered already`;
      throw new MucastError("rate_limited", message, { retryAfter: RETRY_SECONDS });
    }
    this.#open.set(subject, open + 1);
    response.once("close", () => this.#end(subject));
  }

  #end(subject: string): void {
    const open = this.#open.get(subject)! - 1;
    if (open === 0) this.#open.delete(subject);
    else this.#open.set(subject, open);
  }
}

const DOWNLOAD_RETRY_SECONDS = 5;

/** How many downloads go on at the same time: each holds a file or a connection to the storage, and some buffers. */
export interface DownloadLimits {
  readonly downloads: number;
  readonly downloads_per_caller: number;
}

/** Counts the downloads that go on, of each caller and in all. */
export class OpenDownloads {
  readonly #limits: DownloadLimits;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(limits: DownloadLimits) {
    this.#limits = limits;
  }

  /** Counts a download until its connection is done with it. @throws MucastError rate_limited, unavailable. */
  begin(subject: string, response: Pick<ServerResponse, "once" | "destroyed">): void {
    if (response.destroyed) return;
    const open = this.#open.get(subject) ?? 0;
    const { downloads, downloads_per_caller } = this.#limits;
    if (open >= downloads_per_caller) {
      const message = `${open} downloads of this caller go on already (downloads_per_caller)`;
      throw new MucastError("rate_limited", message, { retryAfter: DOWNLOAD_RETRY_SECONDS, limit: open });
    }
    if (this.#all >= downloads) {
      const message = `${this.#all} downloads go on already (downloads)`;
      throw new MucastError("unavailable", message, { retryAfter: DOWNLOAD_RETRY_SECONDS, limit: this.#all });
    }
    this.#all += 1;
    this.#open.set(subject, open + 1);
    response.once("close", () => this.#end(subject));
  }

  #end(subject: string): void {
    this.#all -= 1;
    const open = this.#open.get(subject)! - 1;
    if (open === 0) this.#open.delete(subject);
    else this.#open.set(subject, open);
  }
}
