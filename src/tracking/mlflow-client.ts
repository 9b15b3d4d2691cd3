import { Agent as HttpAgent, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { DEFAULT_TRANSFER_LIMITS, type TransferLimits } from "../blob/policy.ts";
import {
  bodyOf,
  failureOf,
  isPassingStatus,
  isTrustFailure,
  Retry,
  send,
} from "../blob/remote/remote-request.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { printable } from "../contract/errors/wording.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import type { Tracker } from "./tracker.ts";

/** Milliseconds, and attempts at one request. */
export interface ClientLimits {
  readonly connectMs: number;
  /** Until the headers of an answer, and between two pieces of its body. */
  readonly idleMs: number;
  readonly attempts: number;
  readonly backoffMs: number;
}

const LIMITS: ClientLimits = { connectMs: 5_000, idleMs: 30_000, attempts: 3, backoffMs: 500 };

/** An upload may take as long as this rate needs, in bytes per millisecond, beyond `idleMs`. */
const LEAST_UPLOAD_RATE = 250;

/** Answers of the API are a few kilobytes. */
const MAX_ANSWER_BYTES = 2 ** 20;

/** Characters of the server's own message that an error shows. */
const MAX_MESSAGE = 300;

/** A request that the tracker did not carry out. */
export class TrackerFailure extends Error {
  /** The tracker may carry it out later: it is away, slow, overloaded or broken. */
  readonly isPassing: boolean;
  /** MLflow's error code, such as `RESOURCE_DOES_NOT_EXIST`; empty if the answer has none. */
  readonly word: string;

  constructor(message: string, { isPassing = false, word = "" } = {}) {
    super(message);
    this.isPassing = isPassing;
    this.word = word;
  }
}

interface Sent {
  readonly method: "GET" | "POST" | "PUT";
  /** Below the URL of the tracker; starts with a slash. */
  readonly path: string;
  readonly body?: Uint8Array | string;
  readonly type?: string;
  readonly attempts?: number;
}

/**
 * Speaks MLflow's REST API 2.0. Follows no redirect, reads a limited number of bytes, and repeats a request that may succeed later. No
 * error shows a credential. Close it, because it keeps connections open.
 */
export class MlflowClient {
  readonly tracker: Tracker;
  readonly #limits: TransferLimits;
  readonly #signal: AbortSignal;
  readonly #agent: HttpAgent | HttpsAgent;

  constructor(tracker: Tracker, signal: AbortSignal, limits: Partial<ClientLimits> = {}) {
    this.tracker = tracker;
    this.#signal = signal;
    this.#limits = { ...DEFAULT_TRANSFER_LIMITS, ...LIMITS, ...limits };
    const Agent = tracker.url.startsWith("https:") ? HttpsAgent : HttpAgent;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 2 });
  }

  /** @param query names and values. @throws TrackerFailure; what the signal aborts with. */
  get(method: string, query: Readonly<Record<string, string>>): Promise<unknown> {
    return this.#call({ method: "GET", path: `/api/2.0/mlflow/${method}?${new URLSearchParams(query)}` });
  }

  /** @param attempts fewer than usual for a request whose repetition is not harmless. @throws like `get`. */
  post(method: string, body: unknown, attempts?: number): Promise<unknown> {
    const path = `/api/2.0/mlflow/${method}`;
    const json = { body: JSON.stringify(body), type: "application/json" };
    return this.#call({ method: "POST", path, ...json, ...(attempts === undefined ? {} : { attempts }) });
  }

  /** Stores an artifact through the server. @param path below the server's artifacts, encoded. @throws like `get`. */
  async upload(path: string, body: Uint8Array, type: string): Promise<void> {
    await this.#call({ method: "PUT", path: `/api/2.0/mlflow-artifacts/artifacts/${path}`, body, type });
  }

  close(): void {
    this.#agent.destroy();
  }

  async #call(request: Sent): Promise<unknown> {
    const retry = new Retry({ ...this.#limits, attempts: request.attempts ?? this.#limits.attempts });
    for (;;) {
      try {
        return await this.#attempt(request);
      } catch (error) {
        this.#signal.throwIfAborted();
        const failure = error instanceof TrackerFailure ? error : connectionFailure(error);
        if (!failure.isPassing || !retry.another()) throw failure;
        await retry.pause(this.#signal).catch(() => this.#signal.throwIfAborted());
      }
    }
  }

  async #attempt({ method, path, body, type }: Sent): Promise<unknown> {
    const { authorization, url } = this.tracker;
    const length = body === undefined ? 0 : Buffer.byteLength(body);
    const answer = await send({
      url: new URL(`${url}${path}`),
      method,
      headers: {
        accept: "application/json",
        "user-agent": `mucast/${MUCAST_VERSION}`,
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined ? {} : { "content-type": type!, "content-length": String(length) }),
      },
      body,
      agent: this.#agent,
      limits: { ...this.#limits, idleMs: this.#limits.idleMs + length / LEAST_UPLOAD_RATE },
      signal: this.#signal,
    });
    const text = await boundedText(answer, this.#limits.idleMs);
    return this.#parsed(answer.statusCode ?? 0, text);
  }

  /** @param text undefined if it is too long. */
  #parsed(status: number, text: string | undefined): unknown {
    if (status >= 300 && status < 400) {
      throw new TrackerFailure(
        `it answered with a redirect (${status}), and redirects are not followed; set the URL at which the server itself answers`,
      );
    }
    const value = text === undefined ? undefined : jsonOf(text);
    if (status === 200 && isObject(value)) return value;
    // Artifacts are stored with an empty answer or {}, by version.
    if (status === 200 && text === "") return {};
    if (status === 200)
      throw new TrackerFailure("it did not answer with a JSON object, so it may not be an MLflow server");
    const { error_code, message } = isObject(value) ? value : {};
    const word = typeof error_code === "string" && /^[A-Z_]{1,60}$/.test(error_code) ? error_code : "";
    const said = typeof message === "string" && word !== "" ? `: ${this.#shown(message)}` : "";
    const rights =
      status === 401 || status === 403 ? "; the credentials may be missing or without the right to it" : "";
    throw new TrackerFailure(`it answered ${status}${word && ` ${word}`}${said}${rights}`, {
      isPassing: isPassingStatus(status),
      word,
    });
  }

  /** The server gets the credentials with each request, and may repeat them. */
  #shown(message: string): string {
    const hidden = this.tracker.secrets.reduce((text, secret) => text.replaceAll(secret, "…"), message);
    return printable(hidden.length > MAX_MESSAGE ? `${hidden.slice(0, MAX_MESSAGE)}…` : hidden);
  }
}

/** A certificate that is not trusted stays so. */
function connectionFailure(error: unknown): TrackerFailure {
  return new TrackerFailure(failureOf(error), { isPassing: !isTrustFailure(error) });
}

/** @returns undefined for a body of more bytes than an answer may have. */
async function boundedText(answer: IncomingMessage, idleMs: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of bodyOf(answer, idleMs)) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The error of a command: the tracker and why it has no complete run. */
export function trackingFailed(tracker: Tracker, failure: TrackerFailure): MucastError {
  const message = `the run could not be recorded at ${tracker.url}: ${failure.message}`;
  return new MucastError("tracking_failed", message, { source: tracker.url, passing: failure.isPassing });
}
