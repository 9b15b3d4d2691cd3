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
