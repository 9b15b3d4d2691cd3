import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { beforeEach, type TestContext, test } from "node:test";
import type { Updateable } from "kysely";
import { EVENT_TYPES, type StoredEventType } from "../../contract/api/stored-event.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Database } from "../database/database.ts";
import { newRow, onEachDatabase, removeOperations, withMembers } from "../database/databases.testing.ts";
import type { Tables } from "../database/tables.ts";
import { Leases } from "../queue/leases.ts";
import { appendEvents, type NewEvent } from "../store/events.ts";
import { openLog } from "../telemetry/log.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import type { DeliveryOutcome } from "../telemetry/telemetry.ts";
import { claimDeliveries, type DeliveryPace, MAX_ATTEMPTS, startDeliverer } from "./deliverer.ts";
import { SECRET, WebhookReceiver } from "./receiver.testing.ts";

const PACE: DeliveryPace = {
  claimMilliseconds: 20,
  timeoutMilliseconds: 600_000,
  closeMilliseconds: 600_000,
  retryDelay: () => 0.01,
};

const status = (code: number) => (response: ServerResponse) => void response.writeHead(code).end();

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));
  const leasesOf = () => new Leases({ database: tested.database(), log: noLog });

  async function receiver(t: TestContext): Promise<WebhookReceiver> {
    const listening = await new WebhookReceiver().listen();
    t.after(() => listening.close());
    return listening;
  }

  /** Stores an event of a new operation with the deliveries of the targets. @returns the operation's id. */
  async function storeEvent(
    targets: readonly WebhookTarget[],
    type: StoredEventType = "succeeded",
    data = {},
  ) {
    const id = randomUUID();
    const database = tested.database();
    await database.write(async (db) => {
      await db.insertInto("operations").values(newRow(id, "me")).execute();
      await appendEvents({ database, webhooks: targets, settings: { events_kept: 100 } }, db, id, [
        { type, data } as NewEvent,
      ]);
    });
    return id;
  }

  async function deliveries() {
    const rows = await tested
      .database()
      .db.selectFrom("webhook_deliveries")
      .selectAll()
      .orderBy("id")
      .execute();
    return rows.map(({ attempt: attempts, delivered_at, failed_at, last_error }) => {
      const state = delivered_at ? "delivered" : failed_at ? "failed" : "due";
      return { attempts, state, last_error };
    });
  }

  const update = (values: Updateable<Tables["webhook_deliveries"]>) =>
    tested.database().write((db) => db.updateTable("webhook_deliveries").set(values).execute());

  function start(t: TestContext, targets: readonly WebhookTarget[], pace: Partial<DeliveryPace> = {}) {
    const lines: string[] = [];
    const outcomes: DeliveryOutcome[] = [];
    const deliverer = startDeliverer({
      database: tested.database(),
      leases: leasesOf(),
      targets,
      source: "https://mucast.example",
      log: openLog({ level: "debug", destination: { write: (line) => void lines.push(line) } }),
      telemetry: { delivery: (_target, outcome) => void outcomes.push(outcome) },
      pace: { ...PACE, ...pace },
    });
    let ended: Promise<void> | undefined;
    const close = () => {
      ended ??= deliverer.close();
      return ended;
    };
    t.after(close);
    return { lines, outcomes, close, wake: () => deliverer.wake() };
  }

  const targetAt = (url: string, fields: Partial<WebhookTarget> = {}): WebhookTarget => ({
    name: "desk",
    url,
    secret: SECRET,
    types: ["succeeded", "failed", "canceled"],
    ...fields,
  });

  test("an event arrives as a signed CloudEvent", async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(`${there.origin}/hook?for=mucast`)];
    const deliverer = start(t, targets);
    const id = await storeEvent(targets, "succeeded", { status: "Succeeded", output: "Größe ☃" });
    deliverer.wake();
    const [{ event, headers, path }] = (await there.count(1)) as [(typeof there.received)[number]];
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
    const there = await receiver(t);
    const asks = targetAt(there.origin, { types: ["failed", "progress"] });
    const others = targetAt(there.origin, { name: "elsewhere", types: [...EVENT_TYPES] });
    for (const type of EVENT_TYPES) await storeEvent([asks, others], type);
    const deliverer = start(t, [asks]);
    await there.count(2);
    await deliverer.close();
    const types = there.received.map(({ event }) => event.type).sort();
    assert.deepEqual(types, ["mucast.operation.failed", "mucast.operation.progress"]);
    const states = (await deliveries()).map(({ state }) => state);
    assert.equal(states.filter((state) => state === "due").length, EVENT_TYPES.length);
  });

  test("a delivery that hangs delays no other delivery to its target", { timeout: 600_000 }, async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
    const hung = Promise.withResolvers<ServerResponse>();
    there.answers.push(hung.resolve);
    // Far longer than the limit of this test.
    const deliverer = start(t, targets, { timeoutMilliseconds: 600_000 });
    await storeEvent(targets);
    deliverer.wake();
    const response = await hung.promise;
    for (let n = 0; n < 20; n++) await storeEvent(targets);
    deliverer.wake();
    await there.count(21);
    response.end();
    await deliverer.close();
    assert.deepEqual(new Set((await deliveries()).map(({ state }) => state)), new Set(["delivered"]));
  });

  test("a failed delivery is repeated with the same id, and its reason is stored meanwhile", async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
    await storeEvent(targets);
    const broken = (response: ServerResponse) => void response.destroy();
    there.answers.push(status(503), broken);
    const deliverer = start(t, targets);
    await there.count(3);
    await deliverer.close();
    const ids = new Set(there.received.map(({ headers }) => headers["webhook-id"]));
    assert.equal(ids.size, 1);
    assert.deepEqual(deliverer.outcomes, ["retried", "retried", "delivered"]);
    assert.deepEqual(await deliveries(), [{ attempts: 3, state: "delivered", last_error: null }]);
    const reasons = deliverer.lines.map((line) => JSON.parse(line).reason).filter(Boolean);
    assert.deepEqual(reasons, ["answered with status 503", "the connection failed (ECONNRESET)"]);
  });

  const waitLong = { retryDelay: () => 3_600 };
  const faults: [string, (response: ServerResponse) => void, RegExp, Partial<DeliveryPace>?][] = [
    [
      "redirects",
      (to) => void to.writeHead(307, { location: "/other" }).end(),
      /status 307, and redirects are not/,
    ],
    ["says nothing", () => undefined, /no answer within 2000 ms/, { timeoutMilliseconds: 2_000 }],
    ["refuses", status(401), /answered with status 401/],
  ];
  for (const [what, answer, reason, pace] of faults) {
    test(`a receiver that ${what} gets the event again later`, async (t) => {
      const there = await receiver(t);
      const targets = [targetAt(there.origin)];
      await storeEvent(targets);
      there.answers.push(answer);
      const deliverer = start(t, targets, { ...waitLong, ...pace });
      await there.count(1);
      await deliverer.close();
      const [delivery] = await deliveries();
      assert.deepEqual([delivery!.attempts, delivery!.state], [1, "due"]);
      assert.match(delivery!.last_error!, reason);
      assert.deepEqual(
        there.received.map(({ path }) => path),
        ["/"],
      );
    });
  }

  test("an endless answer is not read to its end", async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
    await storeEvent(targets);
    const cut = Promise.withResolvers<void>();
    there.answers.push((response) => {
      const piece = Buffer.alloc(65_536);
      const more = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.writeHead(200).on("drain", more).on("close", cut.resolve);
      more();
    });
    const deliverer = start(t, targets);
    await cut.promise;
    await deliverer.close();
    assert.deepEqual(await deliveries(), [{ attempts: 1, state: "delivered", last_error: null }]);
  });

  test("status 410 ends a delivery, and so does the last attempt", async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
    await storeEvent(targets);
    await update({ attempt: MAX_ATTEMPTS - 1 });
    await storeEvent(targets);
    there.answers.push(status(410), status(410));
    const lastFails = start(t, targets);
    await there.count(2);
    await lastFails.close();
    assert.deepEqual(lastFails.outcomes, ["failed", "failed"]);
    assert.deepEqual(
      (await deliveries()).map(({ state, attempts }) => [state, attempts]),
      [
        ["failed", MAX_ATTEMPTS],
        ["failed", 1],
      ],
    );
    await update({ attempt: 10, failed_at: null });
    there.answers.push(status(500), status(500), status(500), status(500));
    const allFail = start(t, targets);
    await there.count(6);
    await allFail.close();
    assert.deepEqual(allFail.outcomes.toSorted(), ["failed", "failed", "retried", "retried"]);
  });

  test("a delivery that a service claimed and never finished is sent again", async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
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
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
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
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
    const ids = await Promise.all(Array.from({ length: 40 }, () => storeEvent(targets)));
    const both = [start(t, targets), start(t, targets)];
    await there.count(40);
    await Promise.all(both.map((deliverer) => deliverer.close()));
    const subjects = there.received.map(({ event }) => event.subject);
    assert.deepEqual(subjects.toSorted(), ids.toSorted());
    assert.ok((await deliveries()).every(({ state }) => state === "delivered"));
  });

  test("the delivery of a removed event fails, and nothing is sent", async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(there.origin, { types: ["progress", "succeeded"] })];
    await storeEvent(targets, "progress");
    await tested.database().write((db) => db.deleteFrom("events").execute());
    await storeEvent(targets);
    const deliverer = start(t, targets);
    await there.count(1);
    await deliverer.close();
    const states = (await deliveries()).map(({ state, last_error }) => [state, last_error]);
    assert.deepEqual(states, [
      ["failed", "the event is no longer kept"],
      ["delivered", null],
    ]);
  });

  test("neither the log nor a delivery's row shows a URL or a secret", async (t) => {
    const there = await receiver(t);
    const port = new URL(there.origin).port;
    await there.close();
    const targets = [targetAt(`http://user:planted@127.0.0.1:${port}/planted?key=planted`)];
    await storeEvent(targets);
    const deliverer = start(t, targets, waitLong);
    while (deliverer.outcomes.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await deliverer.close();
    const last_error = (await deliveries())[0]!.last_error;
    assert.equal(last_error, "the connection failed (ECONNREFUSED)");
    const shown = [last_error, ...deliverer.lines].join("\n");
    assert.ok(!shown.includes("planted") && !shown.includes("whsec_"), shown);
  });

  test("the deliverer retries a database that was unreachable", async (t) => {
    const there = await receiver(t);
    const targets = [targetAt(there.origin)];
    await storeEvent(targets);
    let failures = 2;
    const write: Database["write"] = (body) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new Error("away")) : tested.database().write(body);
    };
    const database = withMembers(tested.database(), { write });
    const lines: string[] = [];
    const log = openLog({ level: "warn", destination: { write: (line) => void lines.push(line) } });
    const telemetry = { delivery: () => undefined };
    const leases = leasesOf();
    const deliverer = startDeliverer({
      database,
      leases,
      targets,
      source: "urn:x",
      log,
      telemetry,
      pace: PACE,
    });
    t.after(() => deliverer.close());
    await there.count(1);
    await deliverer.close();
    assert.equal(lines.length, 2);
    assert.equal((await deliveries())[0]!.state, "delivered");
  });
});
