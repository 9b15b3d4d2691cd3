import type { Agent as HttpAgent, IncomingMessage } from "node:http";
import { MucastError } from "../../contract/errors/errors.ts";
import { changed, throwIfAborted } from "../blob-errors.ts";
import type { TransferLimits } from "../policy.ts";
import type { ReadPart, StoredBytes } from "../store.ts";
import { type AddressRule, guardedAgent } from "./addresses.ts";
import {
  bodyOf,
  describeAnswer,
  failed,
  failureOf,
  isPassingStatus,
  isTrustFailure,
  PassingFailure,
  Refusal,
  type RequestContext,
  Retry,
  send,
} from "./remote-request.ts";

export interface RemoteOptions {
  readonly limits: TransferLimits;
  /** The addresses that the host may resolve to. */
  readonly addresses: AddressRule;
  readonly ca?: string | undefined;
  /** Headers with credentials, created for each request. */
  readonly authorize?: () => Promise<Readonly<Record<string, string>>>;
}

type ReaderOptions = RemoteOptions & { readonly signal?: AbortSignal | undefined; readonly part?: ReadPart };

/**
 * Opens a blob over https (or http, if the caller has allowed that). If the server serves ranges and names the version by a strong entity
 * tag, the blob is read range by range with If-Match: a range that fails is requested again from where it broke, and a blob that is
 * replaced meanwhile is an error. Otherwise it is read in one stream, which cannot be resumed.
 * @throws MucastError blob_not_found, blob_unavailable, url_not_allowed (a redirect, an address), canceled.
 */
export async function openRemoteBlob(url: URL, name: string, options: ReaderOptions): Promise<StoredBytes> {
  const reader = new RemoteReader(url, name, options);
  try {
    const answer = await reader.begin();
    const encoded = isGzipEncoded(answer, name);
    return { size: reader.total, encoded, chunks: reader.read(answer), close: async () => reader.close() };
  } catch (error) {
    reader.close();
    throw error;
  }
}

class RemoteReader {
  /** Length of the whole blob, once it is known. */
  total: number | undefined;
  readonly #url: URL;
  readonly #context: RequestContext;
  readonly #options: ReaderOptions;
  readonly #limits: TransferLimits;
  readonly #agent: HttpAgent;
  readonly #deadline: AbortSignal;
  readonly #signal: AbortSignal;
  readonly #retry: Retry;
  #tag: string | undefined;
  #offset: number;
  /** Exclusive end of the requested part, once it is known. */
  #end: number | undefined;

  constructor(url: URL, name: string, options: ReaderOptions) {
    const { limits, signal, addresses, ca, part = {} } = options;
    this.#url = url;
    this.#context = { doing: "reading", name };
    this.#options = options;
    this.#limits = limits;
    this.#agent = guardedAgent(url.origin, addresses, { ca, connections: 1 });
    this.#deadline = AbortSignal.timeout(limits.totalMs);
    this.#signal = signal ? AbortSignal.any([signal, this.#deadline]) : this.#deadline;
    this.#retry = new Retry(limits);
    this.#offset = part.start ?? 0;
    this.#end = part.end;
    this.#tag = part.etag;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The first answer: a range if the server can resume it, else the whole blob. */
  async begin(): Promise<IncomingMessage> {
    const { start = 0, end, etag } = this.#options.part ?? {};
    const wantsWhole = start === 0 && end === undefined;
    let answer = await this.#askRange();
    let range = strongTag(answer) === undefined ? undefined : this.#requestedRange(answer);
    if (range === undefined) {
      if (!wantsWhole) throw this.#unavailable("the server does not send the requested part");
      // An empty blob has no range (416), and a range that cannot be resumed safely is useless.
      if (answer.statusCode !== 200) {
        answer.destroy();
        answer = await this.#ask(this.#condition);
      }
      if (answer.statusCode !== 200) {
        throw this.#unavailable("the server sends neither the whole blob nor clear ranges");
      }
      const length = answer.headers["content-length"];
      range = { total: length === undefined ? undefined : Number(length) };
    }
    if (etag !== undefined && strongTag(answer) !== etag) throw changed(this.#context.name);
    this.#tag = strongTag(answer);
    this.total = range.total;
    this.#end = this.total && Math.min(this.#end ?? this.total, this.total);
    return answer;
  }

  async *read(first: IncomingMessage): AsyncGenerator<Uint8Array> {
    let answer: IncomingMessage | undefined = first;
    try {
      while (answer !== undefined) {
        const isRange: boolean = answer.statusCode === 206;
        try {
          for await (const chunk of bodyOf(answer, this.#limits.idleMs)) {
            this.#offset += chunk.length;
            yield chunk;
          }
          this.#retry.failures = 0;
        } catch (error) {
          await this.#pauseAfter(error, isRange);
        }
        answer = isRange && this.#offset < this.#end! ? await this.#nextRange() : undefined;
      }
      if (this.#end !== undefined && this.#offset !== this.#end) {
        throw this.#unavailable(`the server sent ${this.#offset} of ${this.#end} bytes`);
      }
    } finally {
      this.close();
    }
  }

  async #nextRange(): Promise<IncomingMessage> {
    const answer = await this.#askRange();
    if (strongTag(answer) !== this.#tag) throw changed(this.#context.name);
    const range = this.#requestedRange(answer);
    if (range === undefined) throw this.#unavailable("the server sent a different range than requested");
    if (range.total !== this.total) throw changed(this.#context.name);
    return answer;
  }

  /** Exclusive end of the next range. */
  get #rangeEnd(): number {
    return Math.min(this.#offset + this.#limits.rangeBytes, this.#end ?? Number.POSITIVE_INFINITY);
  }

  get #condition(): Record<string, string> {
    return this.#tag === undefined ? {} : { "if-match": this.#tag };
  }

  #askRange(): Promise<IncomingMessage> {
    return this.#ask({ range: `bytes=${this.#offset}-${this.#rangeEnd - 1}`, ...this.#condition });
  }

  /** The length of the whole, if an answer has bytes from where they were requested, and not beyond. */
  #requestedRange({ statusCode, headers }: IncomingMessage): { total: number | undefined } | undefined {
    const range = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headers["content-range"] ?? "");
    if (statusCode !== 206 || range === null) return undefined;
    const [start, last, total] = range.slice(1).map(Number) as [number, number, number];
    return start === this.#offset && last < this.#rangeEnd ? { total } : undefined;
  }

  /** One GET, retried while its failures may pass. */
  async #ask(headers: Record<string, string>): Promise<IncomingMessage> {
    for (;;) {
      try {
        const credentials = await this.#options.authorize?.();
        const answer = await send({
          url: this.#url,
          method: "GET",
          headers: { "accept-encoding": "identity", "user-agent": "mucast", ...credentials, ...headers },
          agent: this.#agent,
          limits: this.#limits,
          signal: this.#signal,
        });
        const status = answer.statusCode!;
        if ([200, 206, 416].includes(status)) return answer;
        const word = await readErrorCode(answer, this.#limits.idleMs);
        if (isPassingStatus(status)) throw new PassingFailure(describeAnswer(status, word));
        throw new Refusal(this.#context, status, word);
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }

  /** Waits before the next attempt, or throws if there is none. */
  async #pauseAfter(error: unknown, isResumable = true): Promise<void> {
    if (error instanceof MucastError) throw error;
    const mayPass = isResumable && this.#retry.another() && !isTrustFailure(error);
    if (mayPass) await this.#retry.pause(this.#signal).catch(() => undefined);
    throwIfAborted(this.#options.signal, "reading", this.#context.name);
    if (this.#deadline.aborted) throw this.#unavailable(`it took longer than ${this.#limits.totalMs} ms`);
    if (mayPass) return;
    const note = isResumable ? "" : "; a server without ranges and strong entity tags cannot resume";
    throw this.#unavailable(`${failureOf(error)}${this.#retry.note}${note}`);
  }

  #unavailable(reason: string): MucastError {
    return failed(this.#context, reason);
  }
}

/** The entity tag, if it is a strong one (RFC 9110, section 8.8.3): only those identify the exact bytes. */
function strongTag({ headers }: IncomingMessage): string | undefined {
  return /^"[^"]*"$/.exec(headers.etag ?? "")?.[0];
}

/** True if the server compressed the bytes for the transfer. @throws MucastError unreadable_blob. */
function isGzipEncoded({ headers }: IncomingMessage, name: string): boolean {
  const encoding = (headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return false;
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  const message = `${name} has the content encoding ${JSON.stringify(encoding.slice(0, 20))}; only gzip is understood`;
  throw new MucastError("unreadable_blob", message, { source: name });
}

const MAX_ERROR_BYTES = 4096;

/** The error code of a storage: Azure has it in a header, S3 in the XML of the body. Empty if it is not one word. Drops the body. */
async function readErrorCode(answer: IncomingMessage, idleMs: number): Promise<string> {
  let text = `<Code>${answer.headers["x-ms-error-code"] ?? ""}</Code>`;
  try {
    for await (const chunk of bodyOf(answer, idleMs)) {
      text += Buffer.from(chunk).toString("latin1");
      if (text.length > MAX_ERROR_BYTES) break;
    }
  } catch {
    // The status is the error; its explanation did not come.
  }
  return /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1] ?? "";
}
