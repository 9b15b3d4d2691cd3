import { type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { type Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { changed, outputFailed } from "../blob-errors.ts";
import type { TransferLimits } from "../policy.ts";

/** A failure of the server or the network that may pass. */
export class PassingFailure extends Error {}

interface RemoteRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  readonly agent: HttpAgent | HttpsAgent;
  readonly limits: TransferLimits;
  readonly signal: AbortSignal;
}

/**
 * One request, answered by its headers; the body of the answer is not read yet. Follows nothing, keeps no cookies.
 * @throws PassingFailure if the connection or the headers do not come in time; else the error of the system.
 */
export function send({ url, body, limits, ...options }: RemoteRequest): Promise<IncomingMessage> {
  const secure = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const sent = (secure ? httpsRequest : httpRequest)(url, options);
    let timer: NodeJS.Timeout | undefined;
    function expectWithin(ms: number, what: string): void {
      clearTimeout(timer);
      timer = setTimeout(() => sent.destroy(new PassingFailure(`${what} within ${ms} ms`)), ms);
    }
    const expectAnswer = () => expectWithin(limits.idleMs, "no answer");
    expectWithin(limits.connectMs, "no connection");
    sent.once("socket", (socket) => {
      if (socket.connecting) socket.once(secure ? "secureConnect" : "connect", expectAnswer);
      else expectAnswer();
    });
    // The body has been sent: from now on only the server can be slow.
    if (body !== undefined) sent.once("finish", expectAnswer);
    sent.once("response", (answer) => {
      sent.off("finish", expectAnswer);
      clearTimeout(timer);
      resolve(answer);
    });
    sent.on("error", reject);
    // Without an error, too: Node closes the connection after a 101.
    sent.once("close", () => {
      clearTimeout(timer);
      reject(new PassingFailure("the connection was closed"));
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

/** The purpose of a request, as an error message names it. */
export interface RequestContext {
  readonly doing: "reading" | "writing";
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** The error for a blob that cannot be read or written. */
export function failed({ doing, name }: RequestContext, reason: string): MucastError {
  if (doing === "writing") return outputFailed(name, reason);
  return new MucastError("blob_unavailable", `${name} cannot be read: ${reason}`, { source: name });
}

/** @param word error code of the storage, such as `NoSuchKey`; not shown if it is not one word. */
export function describeAnswer(status: number, word: string): string {
  return `the server answered ${status}${/^[A-Za-z]{1,60}$/.test(word) ? ` ${word}` : ""}`;
}

/** An answer that a retry cannot change. */
export class Refusal extends MucastError {
  readonly status: number;
  readonly word: string;

  constructor(context: RequestContext, status: number, word: string) {
    const error = explainRefusal(context, status, word);
    super(error.code, error.message, { ...error.data, httpStatus: status });
    this.status = status;
    this.word = word;
  }
}

/** S3 reports expired credentials with a 400. */
const EXPIRED = /^(?:ExpiredToken|InvalidToken|TokenRefreshRequired)$/;

function explainRefusal(context: RequestContext, status: number, word: string): MucastError {
  const { doing, name } = context;
  const reason = describeAnswer(status, word);
  if (status >= 300 && status < 400) {
    const message = `${name} answers with a redirect (${status}), and redirects are not followed; give its own URL, or for S3 its region in AWS_REGION`;
    return new MucastError("url_not_allowed", message, { source: name });
  }
  if (doing === "reading" && (status === 404 || status === 410)) {
    return new MucastError("blob_not_found", `${name} does not exist: ${reason}`, { source: name });
  }
  if (doing === "reading" && status === 412) return changed(name);
  if (status !== 401 && status !== 403 && !EXPIRED.test(word)) return failed(context, reason);
  const rights =
    "the credentials (a key, SAS, signature or role) may be missing, expired, or without the right to it";
  return failed(context, `${reason}; ${rights}`);
}

/** True for an answer that may differ a moment later. */
export function isPassingStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
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
  const trust = "; its certificate is not trusted here (see NODE_EXTRA_CA_CERTS)";
  return `the connection failed: ${code || String(error)}${isTrustFailure(error) ? trust : ""}`;
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
