import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Webhook } from "standardwebhooks";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { DueDelivery } from "./deliveries.ts";

export interface SignedPost {
  readonly url: string;
  /** `whsec_…` */
  readonly secret: string;
  readonly id: string;
  readonly body: string;
  readonly timeoutMilliseconds: number;
  /** Gives the post up. */
  readonly signal: AbortSignal;
}

/** What became of a post; a reason names no URL, since a URL may hold a secret. */
export type PostOutcome =
  | { readonly kind: "taken" }
  /** Not now; another try may do. */
  | { readonly kind: "failed"; readonly reason: string }
  /** The receiver wants no more of it: 410. */
  | { readonly kind: "gone" }
  | { readonly kind: "given_up" };

/** What of an answer's body is read, and thrown away, so that its connection can be used again. */
const MOST_ANSWER_BYTES = 64 * 1_024;

/** Posts one event, signed as Standard Webhooks has it. Redirects are not followed. */
export async function postEvent(post: SignedPost): Promise<PostOutcome> {
  const { signal, timeoutMilliseconds } = post;
  const late = AbortSignal.timeout(timeoutMilliseconds);
  try {
    return outcomeOf(await statusOf(post, AbortSignal.any([signal, late])));
  } catch (error) {
    if (signal.aborted) return { kind: "given_up" };
    const reason = late.aborted ? `no answer within ${timeoutMilliseconds} ms` : codeOf(error);
    return { kind: "failed", reason };
  }
}

function outcomeOf(status: number): PostOutcome {
  if (status >= 200 && status < 300) return { kind: "taken" };
  if (status === 410) return { kind: "gone" };
  const followed = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
  return { kind: "failed", reason: `answered with status ${status}${followed}` };
}

/** @throws where no answer came; its body does not count. */
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
      throwAway(answer, () => resolve(answer.statusCode!));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function throwAway(answer: IncomingMessage, done: () => void): void {
  let bytes = 0;
  answer.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > MOST_ANSWER_BYTES) answer.destroy();
  });
  // The status has said it all: how the body ends changes nothing.
  answer.on("error", done);
  answer.on("close", done);
}

/** Such as ECONNREFUSED; a message may name the URL. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^[A-Z0-9_]{1,60}$/.test(code) ? `the connection failed (${code})` : "the connection failed";
}

/** The event of a delivery as it is sent: CloudEvents 1.0 in JSON, structured mode. */
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
 * The same for every try, so that a receiver can tell what it has had. No full stop in it: those part the id from the
 * time and the body in what is signed.
 */
export function eventId(operationId: string, seq: number): string {
  return `${operationId}_${seq}`;
}
