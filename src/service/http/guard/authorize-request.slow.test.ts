import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Settings } from "../../../contract/settings.ts";
import { FakeIssuer } from "../../auth/fake-issuer.testing.ts";
import { newApiKey } from "../../auth/key-store.ts";
import { ask, eventually, LOCAL_TOKEN, listenFor } from "../listening.testing.ts";
import { KnownTokens } from "./authorize-request.ts";

/**
 * Buckets refill with time, and a busy machine takes long between two requests.
 * @returns a function that advances the clock by that many milliseconds.
 */
function stopClock(t: TestContext): (milliseconds: number) => void {
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  return (milliseconds) => {
    now += milliseconds;
  };
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

test("requests of an authenticated caller do not count towards the address", async (t) => {
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

test("at most failed_tries_per_minute wrong keys of an address reach the database, and do not block a known key", async (t) => {
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
  // In flight for longer than the held request, whose timer waits for the clock of this test.
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

/** A service with OIDC, and the status of its answer to a token. */
async function withIssuer(t: TestContext, given: Partial<Settings> = {}) {
  const issuer = await FakeIssuer.start(t);
  const service = await listenFor(t, {
    ...{
      auth: "oidc",
      oidc_issuer: issuer.url,
      oidc_audience: "mucast",
      failed_tries_per_minute: 5,
      ...given,
    },
  });
  const answer = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, text, headers: sent } = await ask(service.port, { path: "/v1/operations", headers });
    assert.ok(!JSON.stringify([text, sent]).includes(issuer.url), text);
    return { status, text, sent };
  };
  const statusesOf = async (tokens: readonly string[]) =>
    (await Promise.all(tokens.map(answer))).map(({ status }) => status);
  return { issuer, answer, statusesOf };
}

test("while the issuer is unreachable, garbage counts as tries and causes no request to the issuer", async (t) => {
  const { issuer, statusesOf } = await withIssuer(t);
  stopClock(t);
  issuer.status = 503;
  const statuses = await statusesOf(Array.from({ length: 60 }, (_, n) => `garbage${n}`));
  assert.deepEqual(statuses.toSorted(), [...Array(5).fill(401), ...Array(55).fill(429)]);
  assert.equal(issuer.requests, 0);
});

test("while the issuer is unreachable, tokens with unknown keys count as tries, and one with a known key is served", async (t) => {
  const { issuer, answer, statusesOf } = await withIssuer(t);
  const setForward = stopClock(t);
  const good = await issuer.token();
  assert.equal((await answer(good)).status, 200);
  issuer.status = 503;
  setForward(600_000);
  const requests = issuer.requests;
  const forged = await Promise.all(
    Array.from({ length: 60 }, (_, n) => issuer.token({}, { kid: `made-up-${n}` })),
  );
  assert.deepEqual((await statusesOf(forged)).toSorted(), [...Array(55).fill(429), ...Array(5).fill(503)]);
  assert.equal(issuer.requests, requests + 1);
  assert.deepEqual(await statusesOf(Array(20).fill(good)), Array(20).fill(200));
  const later = await issuer.token({ sub: "ben" });
  assert.equal((await answer(later)).status, 429, "a token that was not seen before has to wait");
  setForward(60_000);
  assert.equal((await answer(later)).status, 200);
});

test("the message about an unreachable issuer contains no URL of it, and says when to retry", async (t) => {
  const { issuer, answer } = await withIssuer(t);
  issuer.status = 503;
  const { status, text, sent } = await answer(await issuer.token());
  assert.deepEqual([status, JSON.parse(text).code, sent["retry-after"]], [503, "unavailable", "5"]);
  assert.equal(JSON.parse(text).detail, "the keys of the OIDC issuer cannot be read now");
});

test("an unreachable database uses up no tries", async (t) => {
  const { keys, statusOf } = await countingLookups(t, { failed_tries_per_minute: 2 });
  stopClock(t);
  const { token } = await keys.create("good", ["read"]);
  const { find } = keys;
  keys.find = () => Promise.reject(new MucastError("unavailable", "the database is away"));
  for (let n = 0; n < 5; n++) assert.equal(await statusOf(token), 503);
  keys.find = find;
  assert.equal(await statusOf(token), 200);
});

for (const auth of ["none", "keys", "oidc"] as const) {
  test(`with auth ${auth}, a request with two Authorization headers is unauthorized`, async (t) => {
    const issuer = await FakeIssuer.start(t);
    const service = await listenFor(t, { auth, oidc_issuer: issuer.url, oidc_audience: "mucast" });
    const token = auth === "oidc" ? await issuer.token() : (await service.keys.create("ann", ["read"])).token;
    const good = ["authorization", `Bearer ${token}`];
    const asked = async (more: readonly string[]) => {
      const headers = ["host", `127.0.0.1:${service.port}`, ...good, ...more];
      const { status, text } = await ask(service.port, { path: "/v1/operations", headers });
      return [status, JSON.parse(text).detail];
    };
    assert.equal((await asked([]))[0], 200);
    for (const second of [good, ["Authorization", "Bearer other"], ["AUTHORIZATION", ""]]) {
      assert.deepEqual(await asked(second), [401, "the request has more than one Authorization header"]);
    }
  });
}

test("a new token replaces the one that was valid longest ago, and the operator's token stays", () => {
  const known = new KnownTokens("operator");
  known.add("a", "key:a");
  known.add("b", "key:b");
  for (let n = 0; n < 19_998; n++) known.add(`other ${n}`, "key:other");
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
