import type { IncomingMessage } from "node:http";
import { Agent } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../contract/errors.ts";
import { changed, checkStatus, isTrustFailure, spanOf, strongTag } from "./https-answer.ts";
import { bodyOf, getHeaders, PassingFailure } from "./https-request.ts";
import type { BlobLimits } from "./limits.ts";
import type { StoredBytes } from "./stored-bytes.ts";

export interface HttpsOptions {
  readonly limits: BlobLimits;
  readonly signal?: AbortSignal;
  readonly ca?: string;
}

/**
 * Opens a blob over https. Where the server serves ranges and names the version by a strong entity tag, the blob
 * is read range by range with If-Match: a range that fails is asked for again from where it broke, and a blob
 * that is replaced meanwhile is noticed. Elsewhere it is read in one stream, which cannot be resumed.
 * @throws MucastError blob_not_found, blob_unavailable, url_not_allowed (a redirect), canceled.
 */
export async function openHttpsBlob(url: URL, name: string, options: HttpsOptions): Promise<StoredBytes> {
  const reader = new HttpsReader(url, name, options);
  try {
    const answer = await reader.begin();
    return {
      size: reader.total,
      encoded: isGzipEncoded(answer, name),
      chunks: reader.read(answer),
      close: async () => reader.close(),
    };
  } catch (error) {
    reader.close();
    throw error;
  }
}

function isGzipEncoded(answer: IncomingMessage, name: string): boolean {
  const encoding = (answer.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  if (encoding === "identity" || encoding === "") return false;
  const shown = /^[a-z-]{1,20}$/.test(encoding)
    ? `the content encoding "${encoding}"`
    : "an unusual content encoding";
  throw new MucastError("unreadable_blob", `${name} has ${shown}; only gzip is understood`, { source: name });
}

class HttpsReader {
  total: number | undefined;
  readonly #url: URL;
  readonly #name: string;
  readonly #limits: BlobLimits;
  readonly #agent: Agent;
  readonly #caller: AbortSignal | undefined;
  readonly #deadline: AbortSignal;
  readonly #signal: AbortSignal;
  #tag: string | undefined;
  #offset = 0;
  #failures = 0;

  constructor(url: URL, name: string, { limits, signal, ca }: HttpsOptions) {
    this.#url = url;
    this.#name = name;
    this.#limits = limits;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ...(ca === undefined ? {} : { ca }) });
    this.#caller = signal;
    this.#deadline = AbortSignal.timeout(limits.totalMs);
    this.#signal = signal ? AbortSignal.any([signal, this.#deadline]) : this.#deadline;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The first answer: a range where the server can resume it, else the whole blob. */
  async begin(): Promise<IncomingMessage> {
    const answer = await this.#ask({ range: `bytes=0-${this.#limits.rangeBytes - 1}` });
    const tag = strongTag(answer);
    const span = spanOf(answer);
    if (answer.statusCode === 206 && tag !== undefined && span?.start === 0) {
      this.#tag = tag;
      this.total = span.total;
      return answer;
    }
    if (answer.statusCode === 200) {
      this.total = span?.total;
      return answer;
    }
    // An empty blob has no range (416), and a range that cannot be resumed safely is of no use.
    answer.destroy();
    const whole = await this.#ask({});
    if (whole.statusCode !== 200)
      throw this.#unavailable("the server sends neither the whole blob nor clear ranges");
    this.total = spanOf(whole)?.total;
    return whole;
  }

  async *read(first: IncomingMessage): AsyncGenerator<Uint8Array> {
    let answer: IncomingMessage | undefined = first;
    try {
      while (answer !== undefined) {
        try {
          for await (const chunk of bodyOf(answer, this.#limits.idleMs)) {
            this.#offset += chunk.length;
            yield chunk;
          }
          this.#failures = 0;
          if (answer.statusCode === 200) break;
        } catch (error) {
          await this.#afterFailure(error, answer.statusCode !== 200);
        }
        answer = this.#offset === this.total ? undefined : await this.#nextRange();
      }
      if (this.total !== undefined && this.#offset !== this.total) {
        throw this.#unavailable(`the server sent ${this.#offset} of ${this.total} bytes`);
      }
    } finally {
      this.close();
    }
  }

  async #nextRange(): Promise<IncomingMessage> {
    const end = Math.min(this.#offset + this.#limits.rangeBytes, this.total!);
    const answer = await this.#ask({ range: `bytes=${this.#offset}-${end - 1}`, "if-match": this.#tag! });
    const span = spanOf(answer);
    const same = answer.statusCode === 206 && strongTag(answer) === this.#tag && span?.total === this.total;
    if (same && span?.start === this.#offset && span.end! <= end) return answer;
    answer.destroy();
    throw same ? this.#unavailable("the server sent another range than asked for") : changed(this.#name);
  }

  /** One GET, tried again while its failures may pass. */
  async #ask(headers: Record<string, string>): Promise<IncomingMessage> {
    for (;;) {
      try {
        const answer = await getHeaders({
          url: this.#url,
          headers: { "accept-encoding": "identity", "user-agent": "mucast", ...headers },
          agent: this.#agent,
          limits: this.#limits,
          signal: this.#signal,
        });
        checkStatus(answer, this.#name);
        return answer;
      } catch (error) {
        await this.#afterFailure(error);
      }
    }
  }

  /** Waits before the next try, or throws where there is none. */
  async #afterFailure(error: unknown, resumable = true): Promise<void> {
    if (error instanceof MucastError || this.#signal.aborted) throw this.#broken(error);
    if (!resumable)
      throw this.#broken(error, "; a server without ranges and strong entity tags cannot resume");
    this.#failures += 1;
    if (isTrustFailure(error) || this.#failures >= this.#limits.attempts) throw this.#broken(error);
    const wait =
      this.#limits.backoffMs * Math.min(16, 2 ** (this.#failures - 1)) * (0.75 + Math.random() / 2);
    await pause(wait, undefined, { signal: this.#signal }).catch((aborted: unknown) => {
      throw this.#broken(aborted);
    });
  }

  #broken(error: unknown, afterword = ""): MucastError {
    if (error instanceof MucastError) return error;
    if (this.#caller?.aborted) {
      if (this.#caller.reason instanceof MucastError) return this.#caller.reason;
      return new MucastError("canceled", `reading ${this.#name} was cancelled`, { source: this.#name });
    }
    if (this.#deadline.aborted) return this.#unavailable(`it took longer than ${this.#limits.totalMs} ms`);
    const tries = this.#failures > 1 ? ` (tried ${this.#failures} times)` : "";
    if (error instanceof PassingFailure) return this.#unavailable(`${error.message}${tries}${afterword}`);
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const trust = isTrustFailure(error)
      ? "; its certificate is not trusted here (see NODE_EXTRA_CA_CERTS)"
      : "";
    return this.#unavailable(`the connection failed: ${code || String(error)}${tries}${trust}${afterword}`);
  }

  #unavailable(reason: string): MucastError {
    return new MucastError("blob_unavailable", `${this.#name} cannot be read: ${reason}`, {
      source: this.#name,
    });
  }
}
