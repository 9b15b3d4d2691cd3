import { createHash, type Hash } from "node:crypto";
import type { Agent as HttpAgent, IncomingMessage } from "node:http";
import { MucastError } from "../../contract/errors/errors.ts";
import { canceled, changed } from "../blob-errors.ts";
import type { TransferLimits } from "../policy.ts";
import type { StoredBytes } from "../store.ts";
import { type AddressRule, guardedAgent } from "./addresses.ts";
import {
  bodyOf,
  checkStatus,
  contentMd5,
  failureOf,
  isGzipEncoded,
  isTrustFailure,
  Retry,
  type Span,
  send,
  spanOf,
  strongTag,
} from "./remote-request.ts";

interface RemoteOptions {
  readonly limits: TransferLimits;
  /** The addresses that the host may resolve to. */
  readonly addresses: AddressRule;
  readonly signal?: AbortSignal | undefined;
  readonly ca?: string | undefined;
  /** Headers with credentials, created for each request. */
  readonly authorize?: () => Promise<Readonly<Record<string, string>>>;
  readonly part?: BlobPart;
}

/** A part of a blob in bytes, `end` exclusive, and the required version. */
interface BlobPart {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  readonly etag?: string | undefined;
}

/**
 * Opens a blob over https (or http, if the caller has allowed that). If the server serves ranges and names the version by a strong entity
 * tag, the blob is read range by range with If-Match: a range that fails is requested again from where it broke, and a blob that is
 * replaced meanwhile is an error. Otherwise it is read in one stream, which cannot be resumed. If the server sends the MD5 of the whole,
 * the bytes are checked against it.
 * @throws MucastError blob_not_found, blob_unavailable, url_not_allowed (a redirect, an address), canceled.
 */
export async function openRemoteBlob(url: URL, name: string, options: RemoteOptions): Promise<StoredBytes> {
  const reader = new RemoteReader(url, name, options);
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

class RemoteReader {
  /** Length of the whole blob, once it is known. */
  total: number | undefined;
  readonly #url: URL;
  readonly #name: string;
  readonly #options: RemoteOptions;
  readonly #limits: TransferLimits;
  readonly #agent: HttpAgent;
  readonly #wantsWhole: boolean;
  readonly #deadline: AbortSignal;
  readonly #signal: AbortSignal;
  readonly #retry: Retry;
  readonly #md5: Hash = createHash("md5");
  #expectedMd5: string | undefined;
  #tag: string | undefined;
  #offset: number;
  /** Exclusive end of the requested part, once it is known. */
  #end: number | undefined;

  constructor(url: URL, name: string, options: RemoteOptions) {
    const { limits, signal, addresses, ca, part = {} } = options;
    this.#url = url;
    this.#name = name;
    this.#options = options;
    this.#limits = limits;
    this.#agent = guardedAgent(url.origin, addresses, { ca, connections: 1 });
    this.#deadline = AbortSignal.timeout(limits.totalMs);
    this.#signal = signal ? AbortSignal.any([signal, this.#deadline]) : this.#deadline;
    this.#retry = new Retry(limits);
    this.#offset = part.start ?? 0;
    this.#end = part.end;
    this.#tag = part.etag;
    this.#wantsWhole = this.#offset === 0 && part.end === undefined;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The first answer: a range if the server can resume it, else the whole blob. */
  async begin(): Promise<IncomingMessage> {
    const answer = await this.#ask(this.#nextHeaders());
    const tag = strongTag(answer);
    const span = spanOf(answer);
    if (answer.statusCode === 206 && tag !== undefined && this.#isAsked(span)) {
      this.#check(answer, span!.total);
      this.#tag = tag;
      this.#end = Math.min(this.#end ?? Number.POSITIVE_INFINITY, span!.total!);
      return answer;
    }
    if (!this.#wantsWhole) {
      answer.destroy();
      throw this.#unavailable("the server does not send the requested part");
    }
    // An empty blob has no range (416), and a range that cannot be resumed safely is useless.
    const whole = answer.statusCode === 200 ? answer : await this.#askWhole(answer);
    this.#check(whole, spanOf(whole)?.total);
    this.#end = this.total;
    return whole;
  }

  async #askWhole(instead: IncomingMessage): Promise<IncomingMessage> {
    instead.destroy();
    const whole = await this.#ask(this.#tag === undefined ? {} : { "if-match": this.#tag });
    if (whole.statusCode === 200) return whole;
    throw this.#unavailable("the server sends neither the whole blob nor clear ranges");
  }

  /** Stores the size and MD5 of the first answer, and checks that it has the required version. */
  #check(answer: IncomingMessage, total: number | undefined): void {
    const { etag } = this.#options.part ?? {};
    if (etag !== undefined && strongTag(answer) !== etag) throw changed(this.#name);
    this.total = total;
    if (this.#wantsWhole) this.#expectedMd5 = contentMd5(answer);
  }

  async *read(first: IncomingMessage): AsyncGenerator<Uint8Array> {
    let answer: IncomingMessage | undefined = first;
    try {
      while (answer !== undefined) {
        try {
          for await (const chunk of bodyOf(answer, this.#limits.idleMs)) {
            this.#offset += chunk.length;
            if (this.#expectedMd5 !== undefined) this.#md5.update(chunk);
            yield chunk;
          }
          this.#retry.failures = 0;
          if (answer.statusCode === 200) break;
        } catch (error) {
          await this.#afterFailure(error, answer.statusCode !== 200);
        }
        answer = this.#offset >= (this.#end ?? 0) ? undefined : await this.#nextRange();
      }
      if (this.#end !== undefined && this.#offset !== this.#end) {
        throw this.#unavailable(`the server sent ${this.#offset} of ${this.#end} bytes`);
      }
      this.#checkDigest();
    } finally {
      this.close();
    }
  }

  #checkDigest(): void {
    if (this.#expectedMd5 === undefined || this.#md5.digest("base64") === this.#expectedMd5) return;
    throw this.#unavailable(
      "its bytes do not have the MD5 that the storage reports; it was damaged in transit or in storage",
    );
  }

  /** Exclusive end of the next range. */
  get #rangeEnd(): number {
    return Math.min(this.#offset + this.#limits.rangeBytes, this.#end ?? Number.POSITIVE_INFINITY);
  }

  /** Whether an answer starts where it was requested to, and does not end later. */
  #isAsked(span: Span | undefined): boolean {
    return span?.start === this.#offset && span.end! <= this.#rangeEnd;
  }

  #nextHeaders(): Record<string, string> {
    const range = `bytes=${this.#offset}-${this.#rangeEnd - 1}`;
    return this.#tag === undefined ? { range } : { range, "if-match": this.#tag };
  }

  async #nextRange(): Promise<IncomingMessage> {
    const answer = await this.#ask(this.#nextHeaders());
    const span = spanOf(answer);
    const same = answer.statusCode === 206 && strongTag(answer) === this.#tag && span?.total === this.total;
    if (same && this.#isAsked(span)) return answer;
    answer.destroy();
    throw same ? this.#unavailable("the server sent a different range than requested") : changed(this.#name);
  }

  /** One GET, retried while its failures may pass. */
  async #ask(headers: Record<string, string>): Promise<IncomingMessage> {
    for (;;) {
      try {
        const answer = await send({
          url: this.#url,
          method: "GET",
          headers: {
            "accept-encoding": "identity",
            "user-agent": "mucast",
            ...(await this.#options.authorize?.()),
            ...headers,
          },
          agent: this.#agent,
          limits: this.#limits,
          signal: this.#signal,
        });
        await checkStatus(answer, this.#name, this.#limits.idleMs);
        return answer;
      } catch (error) {
        await this.#afterFailure(error);
      }
    }
  }

  /** Waits before the next attempt, or throws if there is none. */
  async #afterFailure(error: unknown, resumable = true): Promise<void> {
    if (error instanceof MucastError || this.#signal.aborted) throw this.#broken(error);
    if (!resumable)
      throw this.#broken(error, "; a server without ranges and strong entity tags cannot resume");
    const another = this.#retry.another();
    if (isTrustFailure(error) || !another) throw this.#broken(error);
    await this.#retry.pause(this.#signal).catch((aborted: unknown) => {
      throw this.#broken(aborted);
    });
  }

  #broken(error: unknown, afterword = ""): MucastError {
    if (error instanceof MucastError) return error;
    const caller = this.#options.signal;
    if (caller?.aborted) return canceled(caller, "reading", this.#name);
    if (this.#deadline.aborted) return this.#unavailable(`it took longer than ${this.#limits.totalMs} ms`);
    return this.#unavailable(`${failureOf(error)}${this.#retry.note}${afterword}`);
  }

  #unavailable(reason: string): MucastError {
    return new MucastError("blob_unavailable", `${this.#name} cannot be read: ${reason}`, {
      source: this.#name,
    });
  }
}
