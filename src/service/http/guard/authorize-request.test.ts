import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Settings } from "../../../contract/settings.ts";
import { newApiKey } from "../../auth/api-key.ts";
import { ask, eventually, LOCAL_TOKEN, listenFor } from "../listening.testing.ts";
import { KnownTokens } from "./authorize-request.ts";

/** Buckets refill with time, and a busy machine takes long between two requests. */
function stopClock(t: TestContext): void {
  const now = performance.now();
  t.mock.method(performance, "now", () => now);
}

test("requests beyond the rate of an address are refused, and health checks do not count", async (t) => {
  const slow = await listenFor(t, { requests_per_minute: 3 });
  stopClock(t);
  const statuses = [];
  for (let n = 0; n < 5; n++) statuses.push((await ask(slow.port, { path: "/v1/operations" })).status);
  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
  const refused = await ask(slow.port, { path: "/v1/operations" });
  assert.deepEqual([JSON.parse(refused.text).code, refused.headers["retry-after"]], ["rate_limited", "20"]);
  for (const path of ["/healthz", "/readyz"]) assert.equal((await ask(slow.port, { path })).status, 200);
});

test("requests of an authenticated caller do not count for the address", async (t) => {
  const slow = await listenFor(t, { auth: "keys", requests_per_minute: 2 });
  stopClock(t);
  const { token } = await slow.keys.create("ann", ["read"]);
  const status = async (authorization?: string) =>
    (
      await ask(slow.port, {
        path: "/v1/operations",
        headers: authorization === undefined ? {} : { authorization },
      })
    ).status;
  assert.deepEqual([await status(), await status("Bearer wrong"), await status()], [401, 401, 401]);
  assert.equal(await status(), 429);
  assert.deepEqual([await status(`Bearer ${token}`), await status(`Bearer ${token}`)], [200, 200]);
  assert.equal(await status(`Bearer ${token}`), 429);
  assert.equal(await status(`Bearer ${LOCAL_TOKEN}`), 200);
});

/** A service with keys that counts the queries for keys. */
async function countingLookups(t: TestContext, given: Partial<Settings>) {
  const service = await listenFor(t, { auth: "keys", ...given });
  let lookups = 0;
  const find = service.keys.find.bind(service.keys);
  service.keys.find = (id) => {
    lookups += 1;
    return find(id);
  };
  const statusOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${service.origin}/v1/operations`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  };
  return { ...service, statusOf, lookups: () => lookups };
}

test("the database is asked for at most failed_tries_per_minute wrong keys of an address, and a known key is not refused for them", async (t) => {
  const { keys, statusOf, lookups } = await countingLookups(t, { failed_tries_per_minute: 5 });
  stopClock(t);
  const good = await keys.create("good", ["read"]);
  const late = await keys.create("late", ["read"]);
  assert.equal(await statusOf(good.token), 200);
  const before = lookups();
  const wrong = Array.from({ length: 60 }, () => newApiKey().token);
  const tried = await Promise.all(wrong.map(statusOf));
  assert.equal(lookups() - before, 5);
  assert.deepEqual(
    [tried.filter((status) => status === 401).length, new Set(tried)],
    [5, new Set([401, 429])],
  );
  const again = await Promise.all(Array.from({ length: 20 }, () => statusOf(good.token)));
  assert.deepEqual(new Set(again), new Set([200]));
  assert.equal(await statusOf(late.token), 429, "an unknown key has to wait");
  assert.equal(await statusOf(LOCAL_TOKEN), 200, "the operator's token does not wait");
  await keys.revoke(good.key.id);
  assert.equal(await statusOf(good.token), 401, "a known key is still checked");
  assert.equal(await statusOf(good.token), 429, "after that it counts as unknown");
});

test("refusals of a caller who has had hundreds are held back for a second, and other callers are answered meanwhile", async (t) => {
  const { keys, statusOf } = await countingLookups(t, { requests_per_minute: 1 });
  stopClock(t);
  const [eager, other] = [await keys.create("eager", ["read"]), await keys.create("other", ["read"])];
  assert.equal(await statusOf(eager.token), 200);
  for (let nth = 0; nth < 600; nth++) assert.equal(await statusOf(eager.token), 429);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const order: string[] = [];
  const held = statusOf(eager.token).then((status) => order.push(`eager ${status}`));
  // Longer on the way than the held request, whose timer waits for the clock of this test.
  for (let nth = 0; nth < 3; nth++) order.push(`other ${await statusOf(other.token)}`);
  await eventually(() => {
    t.mock.timers.tick(1_000);
    return order.length === 4;
  });
  await held;
  assert.deepEqual(order, ["other 200", "other 429", "other 429", "eager 429"]);
});

test("good tokens use up no tries, however many are new", async (t) => {
  const { keys, statusOf } = await countingLookups(t, { failed_tries_per_minute: 2 });
  for (let i = 0; i < 6; i++) {
    const { token } = await keys.create(`k${i}`, ["read"]);
    assert.equal(await statusOf(token), 200);
  }
});

test("a known token beyond its caller's rate is refused without a query", async (t) => {
  const { keys, statusOf, lookups } = await countingLookups(t, { requests_per_minute: 3 });
  stopClock(t);
  const { token } = await keys.create("eager", ["read"]);
  const statuses = [];
  for (let i = 0; i < 8; i++) statuses.push(await statusOf(token));
  assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429, 429, 429]);
  assert.equal(lookups(), 3);
});

test("a new token replaces the one that was good longest ago, and the operator's token stays", () => {
  const known = new KnownTokens("operator", 2);
  known.add("a", "key:a");
  known.add("b", "key:b");
  known.add("a", "key:a");
  known.add("c", "key:c");
  assert.deepEqual(
    ["a", "b", "c"].map((token) => known.subjectOf(token)),
    ["key:a", undefined, "key:c"],
  );
  assert.equal(known.subjectOf("operator"), "local");
  known.remove("c");
  assert.equal(known.subjectOf("c"), undefined);
});
