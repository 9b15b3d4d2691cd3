import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { beforeEach, type TestContext, test } from "node:test";
import type { Updateable } from "kysely";
import { Webhook } from "standardwebhooks";
import { answering } from "../../../test/servers/answering.testing.ts";
import { EVENT_TYPES, type StoredEventType } from "../../contract/api/stored-event.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Database } from "../database/database.ts";
import { newRow, onEachDatabase, removeOperations, withMembers } from "../database/databases.testing.ts";
import type { Tables } from "../database/tables.ts";
import { Leases } from "../queue/leases.ts";
import { appendEvents, type NewEvent } from "../store/events.ts";
import { openLog } from "../telemetry/log.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import type { DeliveryOutcome } from "../telemetry/telemetry.ts";
import {
  checkTargets,
  claimDeliveries,
  type DeliveryPace,
  MAX_ATTEMPTS,
  retryDelay,
  startDeliverer,
} from "./deliverer.ts";

const SECRET = `whsec_${Buffer.from("twenty-four bytes, or more").toString("base64")}`;

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body, after its signature was verified. */
  readonly event: Record<string, unknown>;
}

type Answer = (response: ServerResponse) => void;
const status =
  (code: number): Answer =>
  (response) =>
    void response.writeHead(code).end();

/** A receiver of webhooks on loopback, as an operator may run it. It throws if a signature is wrong. */
async function listen(t: TestContext) {
  const received: Received[] = [];
  /** The next answers; 200 if there are none. */
  const answers: Answer[] = [];
  const arrivals = new EventEmitter();
  const server = createServer(
    answering(async (request, response) => {
      const { headers, url } = request;
      const event = new Webhook(SECRET).verify(await text(request), headers as Record<string, string>);
      received.push({ path: url!, headers, event: event as Record<string, unknown> });
      const answer = answers.shift() ?? ((to) => to.writeHead(200).end("ok"));
      answer(response);
      arrivals.emit("event");
    }),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** Waits until this many events have arrived since the start. */
  const count = async (wanted: number) => {
    while (received.length < wanted) await once(arrivals, "event");
  };
  return { origin, targets: [targetAt(origin)], received, answers, count };
}

const PACE: DeliveryPace = {
  claimMilliseconds: 20,
  timeoutMilliseconds: 600_000,
  closeMilliseconds: 600_000,
  retryDelay: () => 0.01,
};
const LATER = { retryDelay: () => 3_600 };

function targetAt(url: string, fields: Partial<WebhookTarget> = {}): WebhookTarget {
  return { name: "desk", url, secret: SECRET, types: ["succeeded", "failed", "canceled"], ...fields };
}

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));
  const leasesOf = () => new Leases({ database: tested.database(), log: noLog });

  /** Stores an event of a new operation with the deliveries of the targets. @returns the operation's id. */
  async function storeEvent(
    targets: readonly WebhookTarget[],
    type: StoredEventType = "succeeded",
    data = {},
  ) {
    const id = randomUUID();
    const database = tested.database();
    const parts = { database, webhooks: targets, settings: { events_kept: 100 } };
    await database.write(async (db) => {
      await db
        .insertInto("operations")
        .values({ ...newRow(id, "me"), last_seq: 1 })
        .execute();
      await appendEvents(parts, db, { id, last_seq: 1 }, [{ type, data } as NewEvent]);
    });
    return id;
  }

  async function deliveries() {
    const query = tested.database().db.selectFrom("webhook_deliveries").selectAll();
    return (await query.orderBy("id").execute()).map(({ attempt, delivered_at, failed_at, last_error }) => {
      const state = delivered_at ? "delivered" : failed_at ? "failed" : "due";
      return { attempts: attempt, state, last_error };
    });
  }

  const update = (values: Updateable<Tables["webhook_deliveries"]>) =>
    tested.database().write((db) => db.updateTable("webhook_deliveries").set(values).execute());

  function start(
    t: TestContext,
    targets: readonly WebhookTarget[],
    pace: Partial<DeliveryPace> = {},
    database = tested.database(),
  ) {
    const lines: string[] = [];
    const outcomes: DeliveryOutcome[] = [];
    const deliverer = startDeliverer({
      ...{ database, leases: leasesOf(), targets, source: "https://mucast.example" },
      log: openLog({ level: "debug", destination: { write: (line) => void lines.push(line) } }),
      telemetry: { delivery: (_target, outcome) => void outcomes.push(outcome) },
      pace: { ...PACE, ...pace },
    });
    t.after(() => deliverer.close());
    return { ...deliverer, lines, outcomes };
  }

  test("an event arrives as a signed CloudEvent", async (t) => {
    const there = await listen(t);
    const targets = [targetAt(`${there.origin}/hook?for=mucast`)];
    const deliverer = start(t, targets);
    const id = await storeEvent(targets, "succeeded", { status: "Succeeded", output: "Größe ☃" });
    deliverer.wake();
    await there.count(1);
    const { event, headers, path } = there.received[0]!;
    await deliverer.close();
    const { time, ...rest } = event;
    assert.deepEqual(rest, {
      specversion: "1.0",
      id: `${id}_1`,
      source: "https://mucast.example",
      type: "mucast.operation.succeeded",
      subject: id,
      datacontenttype: "application/json",
      data: { status: "Succeeded", output: "Größe ☃" },
    });
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.equal(path, "/hook?for=mucast");
    assert.equal(headers["content-type"], "application/cloudevents+json; charset=utf-8");
    assert.equal(headers["webhook-id"], `${id}_1`);
    assert.match(headers["user-agent"]!, /^mucast\/\d/);
    assert.deepEqual(await deliveries(), [{ attempts: 1, state: "delivered", last_error: null }]);
    assert.deepEqual(deliverer.outcomes, ["delivered"]);
  });

  test("a target gets the types that it wants, and deliveries to targets of another service stay", async (t) => {
    const there = await listen(t);
    const asks = targetAt(there.origin, { types: ["failed", "progress"] });
    const others = targetAt(there.origin, { name: "elsewhere", types: [...EVENT_TYPES] });
    for (const type of EVENT_TYPES) await storeEvent([asks, others], type);
    const deliverer = start(t, [asks]);
    await there.count(2);
    await deliverer.close();
    const types = there.received.map(({ event }) => event.type).sort();
    assert.deepEqual(types, ["mucast.operation.failed", "mucast.operation.progress"]);
    const due = (await deliveries()).filter(({ state }) => state === "due");
    assert.equal(due.length, EVENT_TYPES.length);
  });

  test("a failed delivery is repeated with the same id, also while the database is away for a while", async (t) => {
    const { targets, ...there } = await listen(t);
    await storeEvent(targets);
    there.answers.push(status(503), (response) => void response.destroy());
    let failures = 2;
    const write: Database["write"] = (body) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new Error("away")) : tested.database().write(body);
    };
    const deliverer = start(t, targets, {}, withMembers(tested.database(), { write }));
    await there.count(3);
    await deliverer.close();
    assert.equal(new Set(there.received.map(({ headers }) => headers["webhook-id"])).size, 1);
    assert.deepEqual(deliverer.outcomes, ["retried", "retried", "delivered"]);
    assert.deepEqual(await deliveries(), [{ attempts: 3, state: "delivered", last_error: null }]);
    const lines = deliverer.lines.map((line) => JSON.parse(line));
    assert.equal(lines.filter(({ level }) => level === "warn").length, 2);
    assert.deepEqual(
      lines.flatMap(({ reason }) => reason ?? []),
      ["answered with status 503", "the connection failed (ECONNRESET)"],
    );
  });

  const again = (last_error: string) => ({ state: "due", last_error });
  const answers: [string, Answer, { state: string; last_error: string }, Partial<DeliveryPace>?][] = [
    ["refuses", status(401), again("answered with status 401")],
    [
      "redirects",
      (to) => void to.writeHead(307, { location: "/other" }).end(),
      again("answered with status 307, and redirects are not followed"),
    ],
    ["says nothing", () => undefined, again("no answer within 2000 ms"), { timeoutMilliseconds: 2_000 }],
  ];
  for (const [what, answer, expected, pace] of answers)
    test(`an event to a receiver that ${what} is ${expected.state}`, async (t) => {
      const { targets, ...there } = await listen(t);
      await storeEvent(targets);
      there.answers.push(answer);
      const deliverer = start(t, targets, { ...LATER, ...pace });
      await there.count(1);
      await deliverer.close();
      assert.deepEqual(await deliveries(), [{ attempts: 1, ...expected }]);
      assert.equal(there.received.length, 1);
    });

  test("status 410 ends a delivery, and so do the last attempt and a removed event", async (t) => {
    const { targets, ...there } = await listen(t);
    await storeEvent(targets);
    await tested.database().write((db) => db.deleteFrom("events").execute());
    await storeEvent(targets);
    await update({ attempt: MAX_ATTEMPTS - 2 });
    there.answers.push(status(500), status(500));
    const last = start(t, targets);
    await there.count(2);
    await last.close();
    await storeEvent(targets);
    there.answers.push(status(410));
    const gone = start(t, targets);
    await there.count(3);
    await gone.close();
    assert.deepEqual(
      [last.outcomes.toSorted(), gone.outcomes],
      [["failed", "failed", "retried"], ["failed"]],
    );
    assert.deepEqual(
      (await deliveries()).map(({ attempts, last_error }) => [attempts, last_error]),
      [
        [MAX_ATTEMPTS - 1, "the event is no longer kept"],
        [MAX_ATTEMPTS, "answered with status 500"],
        [1, "answered with status 410: the receiver does not want the event"],
      ],
    );
  });

  test("a delivery that a service claimed and never finished is sent again", async (t) => {
    const { targets, ...there } = await listen(t);
    await storeEvent(targets);
    const killed = leasesOf();
    const claim = () => claimDeliveries(tested.database(), killed.owner, "desk", 8);
    assert.equal((await claim()).length, 1);
    assert.deepEqual(await claim(), []);
    // As another service does once the lease has expired.
    const [lease] = await killed.renew("webhook_deliveries");
    await leasesOf().take("webhook_deliveries", lease!, null);
    const deliverer = start(t, targets);
    await there.count(1);
    await deliverer.close();
    assert.deepEqual(await deliveries(), [{ attempts: 2, state: "delivered", last_error: null }]);
  });

  test("a closing service releases its unfinished deliveries, and the next service sends them", async (t) => {
    const { targets, ...there } = await listen(t);
    await storeEvent(targets);
    there.answers.push(() => undefined);
    const first = start(t, targets, { closeMilliseconds: 10 });
    await there.count(1);
    await first.close();
    assert.deepEqual(await deliveries(), [{ attempts: 0, state: "due", last_error: null }]);
    assert.deepEqual(first.outcomes, []);
    const next = start(t, targets);
    await there.count(2);
    await next.close();
    assert.equal((await deliveries())[0]!.state, "delivered");
  });

  test("two services share the deliveries and send each one once", async (t) => {
    const { targets, ...there } = await listen(t);
    const ids = await Promise.all(Array.from({ length: 40 }, () => storeEvent(targets)));
    const both = [start(t, targets), start(t, targets)];
    await there.count(40);
    await Promise.all(both.map((deliverer) => deliverer.close()));
    assert.deepEqual(there.received.map(({ event }) => event.subject).toSorted(), ids.toSorted());
    assert.ok((await deliveries()).every(({ state }) => state === "delivered"));
  });

  test("no event goes to an untrusted certificate, and neither log nor row shows a URL or a secret", async (t) => {
    const certificates = new URL("../../../test/certificates/", import.meta.url);
    const [cert, key] = ["cert", "key"].map((part) =>
      readFileSync(new URL(`localhost.${part}.pem`, certificates)),
    );
    let isAsked = false;
    const server = createTlsServer({ cert, key }, () => {
      isAsked = true;
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const targets = [targetAt(`https://user:planted@localhost:${port}/planted?key=planted`)];
    await storeEvent(targets);
    const deliverer = start(t, targets, LATER);
    while (deliverer.outcomes.length === 0) await new Promise(setImmediate);
    await deliverer.close();
    const { last_error } = (await deliveries())[0]!;
    assert.deepEqual([last_error, isAsked], ["the connection failed (DEPTH_ZERO_SELF_SIGNED_CERT)", false]);
    const shown = [last_error, ...deliverer.lines].join("\n");
    assert.ok(!shown.includes("planted") && !shown.includes("whsec_"), shown);
  });
});

test("targets have different names; https may go anywhere, and http only to this machine", () => {
  const urls = (text: string) => text.split(" ");
  for (const url of urls(
    "https://desk.example/hook https://10.0.0.7/ http://127.0.0.1:9/ http://localhost/ http://[::1]/ http://0x7f.1/",
  ))
    checkTargets([targetAt(url)]);
  const refused = (second: WebhookTarget, path: string, message: RegExp) =>
    assert.throws(
      () => checkTargets([targetAt("https://a.example/", { name: "a" }), second]),
      (error: MucastError) =>
        error.code === "invalid_request" && error.data.path === path && message.test(error.message),
    );
  for (const url of urls(
    "http://desk.example/hook http://10.0.0.7/ http://127.0.0.1.example/ http://localhost.example/",
  ))
    refused(targetAt(url, { name: "b" }), "webhooks[1].url", /the target b has an http URL; use https/);
  refused(targetAt("https://b.example/", { name: "a" }), "webhooks[1].name", /two targets are called a/);
});

test("delays grow from about 5 seconds to about 6 hours, and add up to about a day", () => {
  const middle = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, i) => retryDelay(i + 1, 0.5));
  assert.deepEqual(middle, [5, 15, 45, 135, 405, 1_215, 3_645, 10_935, 21_600, 21_600, 21_600]);
  for (const tries of [1, 6, MAX_ATTEMPTS])
    assert.deepEqual(
      [0, 1].map((random) => (retryDelay(tries, random) / retryDelay(tries, 0.5)).toFixed(2)),
      ["0.80", "1.20"],
    );
});

test("docs/http.md names every type of event", () => {
  const text = readFileSync(new URL("../../../docs/http.md", import.meta.url), "utf8");
  for (const type of EVENT_TYPES) assert.ok(text.includes(`\`${type}\``), type);
});
