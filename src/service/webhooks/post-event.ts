import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Webhook } from "standardwebhooks";
import type { StoredEventType } from "../../contract/api/stored-event.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";

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

/**
 * `failed`: another attempt may succeed. `refused`: the receiver wants no more events. A reason names no URL, since a URL may contain a
 * secret.
 */
type PostOutcome =
  | { readonly kind: "delivered" | "aborted" }
  | { readonly kind: "failed" | "refused"; readonly reason: string };

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
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const reason = `answered with status ${status}`;
  if (status === 410) return { kind: "refused", reason: `${reason}: the receiver does not want the event` };
  const isRedirect = status >= 300 && status < 400;
  return { kind: "failed", reason: isRedirect ? `${reason}, and redirects are not followed` : reason };
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
      let bytes = 0;
      answer.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > MAX_ANSWER_BYTES) answer.destroy();
      });
      answer.on("error", () => undefined);
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

/** A reason with a code such as ECONNREFUSED. The error's message may name the URL. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^[A-Z0-9_]{1,60}$/.test(code) ? `the connection failed (${code})` : "the connection failed";
}

export interface SentEvent {
  readonly type: StoredEventType;
  readonly data: object;
  readonly time: Date;
}

/** The body of a delivery: CloudEvents 1.0 in JSON, structured mode. */
export function cloudEvent(id: string, source: string, subject: string, event: SentEvent): string {
  return JSON.stringify({
    specversion: "1.0",
    id,
    source,
    type: `mucast.operation.${event.type}`,
    subject,
    time: event.time.toISOString(),
    datacontenttype: "application/json",
    data: event.data,
  });
}

/**
 * The id of an event, the same for every attempt, so that a receiver can recognize a repeated event. It has no full stop, which
 * separates id, time and body in the signed text.
 */
export function eventId(operationId: string, seq: number): string {
  return `${operationId}_${seq}`;
}
