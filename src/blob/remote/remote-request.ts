import { type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { type Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { changed } from "../blob-errors.ts";
import type { TransferLimits } from "../policy.ts";

/** A failure of the server or the network that may pass. */
class PassingFailure extends Error {}

interface RemoteRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  readonly agent: HttpAgent | HttpsAgent;
  readonly limits: TransferLimits;
  readonly signal: AbortSignal;
}

/** Open connections. `reusedSocket` does not report this for a request that has waited for its turn. */
const standing = new WeakSet<Socket>();

/**
 * One request, answered by its headers; the body of the answer is not read yet. Follows nothing, keeps no cookies.
 * @throws PassingFailure if the connection or the headers do not come in time, or the server answers 101; else the error of the system.
 */
export function send({ url, body, limits, ...options }: RemoteRequest): Promise<IncomingMessage> {
  const secure = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const sent = (secure ? httpsRequest : httpRequest)(url, options);
    let timer = expire(limits.connectMs, "no connection");
    function expire(ms: number, what: string): NodeJS.Timeout {
      return setTimeout(() => sent.destroy(new PassingFailure(`${what} within ${ms} ms`)), ms);
    }
    let answered = false;
    function awaitAnswer(): void {
      clearTimeout(timer);
      if (!answered) timer = expire(limits.idleMs, "no answer");
    }
    sent.once("socket", (socket) => {
      if (standing.has(socket)) awaitAnswer();
      else
        socket.once(secure ? "secureConnect" : "connect", () => {
          standing.add(socket);
          awaitAnswer();
        });
    });
    // The body has been sent: from now on only the server can be slow.
    if (body !== undefined) sent.once("finish", awaitAnswer);
    sent.once("response", (answer) => {
      answered = true;
      clearTimeout(timer);
      resolve(answer);
    });
    // Without a listener, Node closes the connection after a 101 and reports nothing.
    sent.once("upgrade", (answer, socket) => {
      clearTimeout(timer);
      socket.destroy();
      reject(new PassingFailure(`the server answered ${answer.statusCode}`));
    });
    sent.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    sent.end(body);
  });
}

/**
 * The body of an answer, piece by piece.
 * @throws PassingFailure if a piece does not come in time; the system's error if the connection breaks.
 */
export async function* bodyOf(answer: IncomingMessage, idleMs: number): AsyncGenerator<Uint8Array> {
  const iterator = (answer as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const failure = new PassingFailure(`no data within ${idleMs} ms`);
      // Only the wait for the server counts, not the time that the reader takes between two pieces.
      const timer = setTimeout(() => answer.destroy(failure), idleMs);
      const next = await iterator.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    answer.destroy();
  }
}

/** The position of an answer's bytes in the whole blob. */
export interface Span {
  /** First byte. */
  readonly start: number;
  /** Exclusive end; undefined if the server does not report it. */
  readonly end: number | undefined;
  /** Length of the whole blob; undefined if the server does not report it. */
  readonly total: number | undefined;
}

/** @returns the span of a 206 (from its Content-Range) or a 200; undefined if a 206 is not clear about it. */
export function spanOf(answer: IncomingMessage): Span | undefined {
  if (answer.statusCode === 206) {
    const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(answer.headers["content-range"] ?? "");
    if (!match) return undefined;
    return { start: Number(match[1]), end: Number(match[2]) + 1, total: Number(match[3]) };
  }
  const length = answer.headers["content-length"];
  const total = length === undefined ? undefined : Number(length);
  return { start: 0, end: total, total };
}

/** The entity tag, if it is a strong one (RFC 9110, section 8.8.3): only those identify the exact bytes. */
export function strongTag(answer: IncomingMessage): string | undefined {
  const tag = answer.headers.etag;
  return tag !== undefined && /^"[^"]*"$/.test(tag) ? tag : undefined;
}

/** The MD5 of the whole blob in base64; undefined if the server sends none. With a range, Azure sends it under another name. */
export function contentMd5(answer: IncomingMessage): string | undefined {
  const md5 = answer.headers[answer.statusCode === 206 ? "x-ms-blob-content-md5" : "content-md5"];
  return typeof md5 === "string" && md5 !== "" ? md5 : undefined;
}

/** True if the server compressed the bytes for the transfer. @throws MucastError unreadable_blob. */
export function isGzipEncoded(answer: IncomingMessage, name: string): boolean {
  const encoding = (answer.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  if (encoding === "identity" || encoding === "") return false;
  const label = /^[a-z-]{1,20}$/.test(encoding)
    ? `the content encoding "${encoding}"`
    : "an unusual content encoding";
  throw new MucastError("unreadable_blob", `${name} has ${label}; only gzip is understood`, { source: name });
}

/**
 * Turns every status except 200, 206 and 416 into its error and drops the body.
 * @throws PassingFailure for statuses that may pass (408, 429, 5xx); MucastError for the rest.
 */
export async function checkStatus(answer: IncomingMessage, name: string, idleMs: number): Promise<void> {
  const status = answer.statusCode ?? 0;
  if (status === 200 || status === 206 || status === 416) return;
  const code = await serverCode(answer, idleMs);
  answer.destroy();
  const reason = `the server answered ${status}${code === "" ? "" : ` ${code}`}`;
  const data = { source: name, httpStatus: status };
  if (status >= 300 && status < 400) {
    const message = `${name} answers with a redirect (${status}), and redirects are not followed; give the blob's own URL`;
    throw new MucastError("url_not_allowed", message, data);
  }
  if (status === 404 || status === 410) {
    throw new MucastError("blob_not_found", `${name} does not exist: ${reason}`, data);
  }
  if (status === 401 || status === 403 || isExpired(code)) {
    const message = `${name} cannot be read with these credentials: ${reason}; a SAS, signature or role may be missing, expired or without read permission`;
    throw new MucastError("blob_unavailable", message, data);
  }
  if (status === 412) throw changed(name);
  if (isPassingStatus(status)) throw new PassingFailure(reason);
  throw new MucastError("blob_unavailable", `${name} cannot be read: ${reason}`, data);
}

/** True for an answer that may differ a moment later. */
export function isPassingStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Whether credentials have expired, by S3's error code: its status is 400. */
export function isExpired(code: string): boolean {
  return /^(?:ExpiredToken|InvalidToken|TokenRefreshRequired)$/.test(code);
}

const MAX_ERROR_BYTES = 4096;

/** The short error code: Azure has it in a header, S3 in the XML of the body. Empty if it is not one word. */
async function serverCode(answer: IncomingMessage, idleMs: number): Promise<string> {
  const code = answer.headers["x-ms-error-code"];
  if (typeof code === "string") return /^[A-Za-z]{1,60}$/.test(code) ? code : "";
  if (!/^(?:application|text)\/xml\b/.test(answer.headers["content-type"] ?? "")) return "";
  let text = "";
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

const TRUST = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|EPROTO$)/;

/** True if a retry cannot help: the certificate is not trusted, or there is no TLS. */
export function isTrustFailure(error: unknown): boolean {
  return error instanceof Error && "code" in error && TRUST.test(String(error.code));
}

/** A phrase for why a connection failed, with a remedy if a retry cannot help. */
export function failureOf(error: unknown): string {
  if (error instanceof PassingFailure) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const trust = isTrustFailure(error)
    ? "; its certificate is not trusted here (see NODE_EXTRA_CA_CERTS)"
    : "";
  return `the connection failed: ${code || String(error)}${trust}`;
}

/** Counts the failures of one request in a row, and pauses between its attempts. */
export class Retry {
  failures = 0;
  readonly #limits: TransferLimits;

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** Counts a failure. @returns false if there is no further attempt. */
  another(): boolean {
    this.failures += 1;
    return this.failures < this.#limits.attempts;
  }

  /** Waits before the next attempt: longer after each failure, and a little at random. @throws if the signal aborts. */
  async pause(signal: AbortSignal): Promise<void> {
    const factor = Math.min(16, 2 ** (this.failures - 1)) * (0.75 + Math.random() / 2);
    await pause(this.#limits.backoffMs * factor, undefined, { signal });
  }

  /** For an error message. */
  get note(): string {
    return this.failures > 1 ? ` (tried ${this.failures} times)` : "";
  }
}
