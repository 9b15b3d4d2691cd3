import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { UpdateObject } from "kysely";
import { Webhook } from "standardwebhooks";
import { MucastError } from "../../contract/errors/errors.ts";
import { codeOf } from "../../contract/errors/system-error.ts";
import { isLoopbackName } from "../../contract/machine/loopback.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { Database } from "../database/database.ts";
import type { Tables } from "../database/tables.ts";
import { LeasedWork, type Pace } from "../queue/leased-work.ts";
import type { Leases } from "../queue/leases.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

export interface DeliveryPace extends Pace {
  readonly timeoutMilliseconds: number;
}

const PACE: DeliveryPace = {
  claimMilliseconds: 5_000,
  timeoutMilliseconds: 15_000,
  closeMilliseconds: 3_000,
  retryDelay,
};

const MAX_CONCURRENT = 8;

/** Maximum number of attempts at one delivery; they take about 23 hours including the delays between them. */
export const MAX_ATTEMPTS = 12;

/** Seconds: 5, 15, 45, … up to 6 hours, each up to a fifth longer or shorter, so that not all are repeated together. */
export function retryDelay(attempts: number, random = Math.random()): number {
  const seconds = Math.min(6 * 3_600, 5 * 3 ** (attempts - 1));
  return seconds * (0.8 + 0.4 * random);
}

interface DelivererParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly targets: readonly WebhookTarget[];
  /** `source` of the CloudEvents: the public URL of the service, or a URN. */
  readonly source: string;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "delivery">;
  readonly pace?: DeliveryPace;
}

/** Sends events at least once, in no guaranteed order. A slow target does not delay others; several services share the deliveries. */
export function startDeliverer(parts: DelivererParts): { wake(): void; close(): Promise<void> } {
  const { database, leases, targets, log, pace = PACE } = parts;
  checkTargets(targets);
  const deliverers = targets.map(
    (target) =>
      new LeasedWork({
        pace,
        concurrent: MAX_CONCURRENT,
        claim: (most) => claimDeliveries(database, leases.owner, target.name, most),
        work: (delivery, signal) => deliver({ ...parts, pace }, target, delivery, signal),
        onError: (error) => log.warn({ err: error, target: target.name }, "deliveries could not be read"),
      }),
  );
  const isAtWork = (id: string) => deliverers.some((deliverer) => deliverer.isAtWork(id));
  if (deliverers.length > 0) leases.watch("webhook_deliveries", { isAtWork });
  return {
    wake: () => {
      for (const deliverer of deliverers) deliverer.wake();
    },
    close: async () => {
      await Promise.all(deliverers.map((deliverer) => deliverer.close()));
    },
  };
}

/** Checks the targets. Allows private addresses, since only the operator names targets; requires https for every other machine. */
export function checkTargets(targets: readonly WebhookTarget[]): void {
  for (const [index, { name, url }] of targets.entries()) {
    const refused = (member: string, message: string) => {
      const path = `webhooks[${index}].${member}`;
      return new MucastError("invalid_request", `${path}: ${message}`, { path });
    };
    const { protocol, hostname } = new URL(url);
    if (protocol === "http:" && !isLoopbackName(hostname))
      throw refused("url", `the target ${name} has an http URL; use https, http is for this machine alone`);
    if (targets.findIndex((other) => other.name === name) < index)
      throw refused("name", `two targets are called ${name}; give each a different name`);
  }
}

/** The longest due first, until their outcome is stored or the lease expires. `attempt` counts this one. */
export function claimDeliveries(database: Database, owner: string, target: string, most: number) {
  return database.write(async (db) => {
    const due = await db
      .selectFrom("webhook_deliveries as d")
      .leftJoin("events as e", (join) =>
        join.onRef("e.operation_id", "=", "d.operation_id").onRef("e.seq", "=", "d.seq"),
      )
      .select(["d.id", "d.operation_id", "d.seq", "d.attempt", "e.type", "e.data", "e.created_at"])
      .where("d.target", "=", target)
      .where("d.delivered_at", "is", null)
      .where("d.failed_at", "is", null)
      .where("d.owner", "is", null)
      .where("d.next_at", "<=", database.time())
      .orderBy("d.next_at")
      .orderBy("d.id")
      .limit(most)
      .modifyEnd(database.lock("d", "skip"))
      .execute();
    const ids = due.map(({ id }) => id);
    if (ids.length > 0)
      await db
        .updateTable("webhook_deliveries")
        .set(({ eb }) => ({ owner, attempt: eb("attempt", "+", 1) }))
        .where("id", "in", ids)
        .execute();
    return due.map(({ id, operation_id, seq, attempt, type, data, created_at: time }) => ({
      ...{ id, operation_id, seq, attempt: attempt + 1 },
      // Retention may have removed it.
      event: type && data && time ? { type, data, time } : undefined,
    }));
  });
}

type DueDelivery = Awaited<ReturnType<typeof claimDeliveries>>[number];

/** Makes one attempt, and stores its outcome unless a later attempt has begun. An aborted attempt does not count. */
async function deliver(
  { database, source, log, telemetry, pace }: DelivererParts & { readonly pace: DeliveryPace },
  target: WebhookTarget,
  delivery: DueDelivery,
  signal: AbortSignal,
): Promise<void> {
  const { kind, reason = null } = await post(delivery, target, source, pace.timeoutMilliseconds, signal);
  const { id, operation_id, seq, attempt } = delivery;
  const { name } = target;
  const fields = { operation_id, seq, target: name, attempts: attempt };
  let changes: UpdateObject<Tables, "webhook_deliveries">;
  if (kind === "delivered") {
    changes = { delivered_at: database.time(), last_error: null };
    telemetry.delivery(name, "delivered");
    log.debug(fields, "an event was delivered");
  } else if (kind === "aborted") {
    changes = { attempt: attempt - 1 };
  } else if (kind === "failed" && attempt < MAX_ATTEMPTS) {
    const seconds = pace.retryDelay(attempt);
    changes = { next_at: database.time(seconds), last_error: reason };
    telemetry.delivery(name, "retried");
    const message = "an event was not delivered, and is tried again";
    log.info({ ...fields, reason, seconds: Math.round(seconds) }, message);
  } else {
    changes = { failed_at: database.time(), last_error: reason };
    telemetry.delivery(name, "failed");
    log.warn({ ...fields, reason }, "an event was not delivered and will not be retried");
  }
  try {
    await database.write((db) => {
      const query = db
        .updateTable("webhook_deliveries")
        .set({ owner: null, ...changes })
        .where("id", "=", id)
        .where("delivered_at", "is", null);
      // What was delivered is delivered, even if its lease has expired meanwhile.
      return kind === "delivered" ? query.execute() : query.where("attempt", "=", attempt).execute();
    });
  } catch (error) {
    log.warn({ err: error, ...fields }, "the outcome of a delivery could not be stored");
  }
}

/** `refused`: the receiver wants no more. A reason names no URL, which may contain a secret. */
interface Outcome {
  readonly kind: "delivered" | "aborted" | "failed" | "refused";
  readonly reason?: string;
}

async function post(
  delivery: DueDelivery,
  { url, secret }: WebhookTarget,
  source: string,
  milliseconds: number,
  signal: AbortSignal,
): Promise<Outcome> {
  if (delivery.event === undefined) return { kind: "refused", reason: "the event is no longer kept" };
  const late = AbortSignal.timeout(milliseconds);
  let message: ReturnType<typeof signEvent>;
  try {
    message = signEvent(delivery, delivery.event, secret, source);
  } catch {
    return { kind: "failed", reason: "the event could not be signed" };
  }
  let status: number;
  try {
    status = await send(url, message, AbortSignal.any([signal, late]));
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

/** The event as CloudEvents 1.0 in JSON, structured mode, signed by Standard Webhooks. */
function signEvent(
  { operation_id, seq }: DueDelivery,
  { type, data, time }: NonNullable<DueDelivery["event"]>,
  secret: string,
  source: string,
) {
  const now = new Date();
  // The same for every attempt, so that a receiver can recognize a repeated event. It has no full stop, which separates id, time and body
  // in the signed text.
  const id = `${operation_id}_${seq}`;
  const body = JSON.stringify({
    ...{ specversion: "1.0", id, source, type: `mucast.operation.${type}`, subject: operation_id },
    ...{ time: time.toISOString(), datacontenttype: "application/json", data },
  });
  const headers = {
    "content-type": "application/cloudevents+json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "user-agent": `mucast/${MUCAST_VERSION}`,
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
  return { body, headers };
}

/** @returns the status of the answer, before its body, which does not matter. */
function send(
  url: string,
  { body, headers }: ReturnType<typeof signEvent>,
  signal: AbortSignal,
): Promise<number> {
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers, signal }, (answer) => {
      resolve(answer.statusCode!);
      // The connection is kept for the next event; the signal ends an answer that does not end.
      answer.on("error", () => undefined).resume();
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
