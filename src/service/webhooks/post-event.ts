import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Webhook } from "standardwebhooks";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { DueDelivery } from "./deliveries.ts";

interface SignedPost {
  readonly url: string;
  /** `whsec_…` */
  readonly secret: string;
  readonly id: string;
  readonly body: string;
  readonly timeoutMilliseconds: number;
  /** Aborts the post. */
  readonly signal: AbortSignal;
}

/** The outcome of a post. A reason names no URL, since a URL may contain a secret. */
export type PostOutcome =
  | { readonly kind: "accepted" }
  /** Another attempt may succeed. */
  | { readonly kind: "failed"; readonly reason: string }
  /** The receiver wants no more events: status 410. */
  | { readonly kind: "gone" }
  | { readonly kind: "aborted" };

/** Bytes of an answer that are read and discarded: an answer that ends within them leaves its connection for the next event. */
const MAX_ANSWER_BYTES = 64 * 1_024;

/** Posts one event, signed by Standard Webhooks. Does not follow redirects. */
export async function postEvent(post: SignedPost): Promise<PostOutcome> {
  const { signal, timeoutMilliseconds } = post;
  const late = AbortSignal.timeout(timeoutMilliseconds);
  try {
    return outcomeOf(await statusOf(post, AbortSignal.any([signal, late])));
  } catch (error) {
    if (signal.aborted) return { kind: "aborted" };
    const reason = late.aborted ? `no answer within ${timeoutMilliseconds} ms` : codeOf(error);
    return { kind: "failed", reason };
  }
}

function outcomeOf(status: number): PostOutcome {
  if (status >= 200 && status < 300) return { kind: "accepted" };
  if (status === 410) return { kind: "gone" };
  const followed = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
  return { kind: "failed", reason: `answered with status ${status}${followed}` };
}

/** @returns the status of the answer, before its body, which does not matter. @throws without an answer. */
function statusOf({ url, secret, id, body }: SignedPost, signal: AbortSignal): Promise<number> {
  const now = new Date();
  const headers = {
    "content-type": "application/cloudevents+json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "user-agent": `mucast/${MUCAST_VERSION}`,
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers, signal }, (answer) => {
      resolve(answer.statusCode!);
      discardBody(answer);
    });
    // Without a listener, Node closes the connection after a 101 and reports nothing.
    sent.on("upgrade", (answer, socket) => {
      socket.destroy();
      resolve(answer.statusCode!);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function discardBody(answer: IncomingMessage): void {
  let bytes = 0;
  answer.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) answer.destroy();
  });
  answer.on("error", () => undefined);
}

/** A reason with a code such as ECONNREFUSED. The error's message may name the URL. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^[A-Z0-9_]{1,60}$/.test(code) ? `the connection failed (${code})` : "the connection failed";
}

/** The body of a delivery: CloudEvents 1.0 in JSON, structured mode. */
export function cloudEvent({ operation_id, seq, event }: DueDelivery, source: string): string {
  return JSON.stringify({
    specversion: "1.0",
    id: eventId(operation_id, seq),
    source,
    type: `mucast.operation.${event!.type}`,
    subject: operation_id,
    time: event!.time.toISOString(),
    datacontenttype: "application/json",
    data: event!.data,
  });
}

/**
 * The id of an event, the same for every attempt, so that a receiver can recognize a repeated event. It has no full stop, which
 * separates id, time and body in the signed text.
 */
export function eventId(operationId: string, seq: number): string {
  return `${operationId}_${seq}`;
}
