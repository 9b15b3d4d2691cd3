import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Webhook } from "standardwebhooks";
import type { StoredEventType } from "../../contract/api/stored-event.ts";
import { codeOf } from "../../contract/errors/system-error.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";

export interface SentEvent {
  readonly type: StoredEventType;
  readonly data: object;
  readonly time: Date;
}

interface Post {
  readonly url: string;
  /** `whsec_…` */
  readonly secret: string;
  readonly source: string;
  readonly operation_id: string;
  readonly seq: number;
  readonly event: SentEvent;
  /** Maximum duration. */
  readonly milliseconds: number;
  /** Aborts the post. */
  readonly signal: AbortSignal;
}

/**
 * `failed`: another attempt may succeed. `refused`: the receiver wants no more events. A reason names no URL, since a URL may contain a
 * secret.
 */
type PostOutcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "aborted" }
  | { readonly kind: "failed" | "refused"; readonly reason: string };

/** Bytes of an answer that are read and discarded: an answer that ends within them leaves its connection for the next event. */
const MAX_ANSWER_BYTES = 64 * 1_024;

/** Posts one event, signed by Standard Webhooks. Does not follow redirects. */
export async function postEvent(post: Post): Promise<PostOutcome> {
  const { signal, milliseconds } = post;
  const late = AbortSignal.timeout(milliseconds);
  let status: number;
  try {
    status = await statusOf(post, AbortSignal.any([signal, late]));
  } catch (error) {
    if (signal.aborted) return { kind: "aborted" };
    if (late.aborted) return { kind: "failed", reason: `no answer within ${milliseconds} ms` };
    // The error's message may name the URL.
    const code = codeOf(error) ?? "";
    const isCode = /^[A-Z0-9_]{1,60}$/.test(code);
    return { kind: "failed", reason: `the connection failed${isCode ? ` (${code})` : ""}` };
  }
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const reason = `answered with status ${status}`;
  if (status === 410) return { kind: "refused", reason: `${reason}: the receiver does not want the event` };
  const isRedirect = status >= 300 && status < 400;
  return { kind: "failed", reason: isRedirect ? `${reason}, and redirects are not followed` : reason };
}

/** @returns the status of the answer, before its body, which does not matter. @throws without an answer. */
function statusOf(
  { url, secret, source, operation_id, seq, event }: Post,
  signal: AbortSignal,
): Promise<number> {
  const now = new Date();
  // The same for every attempt, so that a receiver can recognize a repeated event. It has no full stop, which separates id, time and body
  // in the signed text.
  const id = `${operation_id}_${seq}`;
  // CloudEvents 1.0 in JSON, structured mode.
  const body = JSON.stringify({
    ...{ specversion: "1.0", id, source, type: `mucast.operation.${event.type}`, subject: operation_id },
    time: event.time.toISOString(),
    datacontenttype: "application/json",
    data: event.data,
  });
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
