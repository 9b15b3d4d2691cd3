import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { type TestContext, test } from "node:test";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Settings } from "../../../contract/settings.ts";
import { newApiKey } from "../../auth/key-store.ts";
import { LOCAL_TOKEN, listenFor } from "../listening.testing.ts";
import { OpenAnswers } from "./open-answers.ts";

/** Minutes pass with this clock alone. */
function stopClock(t: TestContext): (milliseconds: number) => void {
  let now = Date.now();
  t.mock.method(Date, "now", () => now);
  return (milliseconds) => {
    now += milliseconds;
  };
}

/** A service, and the status of its answer to a token. */
async function serve(t: TestContext, given: Partial<Settings>) {
  const service = await listenFor(t, given);
  const ask = async (token?: string, path = "/v1/operations") => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(`${service.origin}${path}`, { headers });
    await answer.arrayBuffer();
    return answer;
  };
  return {
    ...service,
    ask,
    statusOf: async (token?: string, path?: string) => (await ask(token, path)).status,
  };
}

test("requests beyond the rate of an address are refused for the rest of the minute, and health checks do not count", async (t) => {
  const { ask, statusOf } = await serve(t, { requests_per_minute: 3 });
  const setForward = stopClock(t);
  for (let n = 0; n < 3; n++) assert.equal(await statusOf(), 200);
  setForward(20_000);
  const refused = await ask();
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "40"]);
  for (const path of ["/healthz", "/readyz"]) assert.equal(await statusOf(undefined, path), 200);
  setForward(40_000);
  assert.equal(await statusOf(), 200);
});

test("a caller's requests count for that caller alone, and those without a key for their address", async (t) => {
  const { keys, statusOf } = await serve(t, { auth: "keys", requests_per_minute: 2 });
  stopClock(t);
  for (const status of [401, 401, 429]) assert.equal(await statusOf(), status);
  const [ann, ben] = [await keys.create("ann", ["read"]), await keys.create("ben", ["read"])];
  for (const status of [200, 200, 429]) assert.equal(await statusOf(ann.token), status);
  for (const status of [200, 200, 429]) assert.equal(await statusOf(ben.token), status);
  assert.equal(await statusOf(LOCAL_TOKEN), 200);
});

test("beyond failed_tries_per_minute of an address only keys that were valid before are checked", async (t) => {
  const { keys, statusOf } = await serve(t, { auth: "keys", failed_tries_per_minute: 5 });
  const setForward = stopClock(t);
  const [good, late] = [await keys.create("good", ["read"]), await keys.create("late", ["read"])];
  assert.equal(await statusOf(good.token), 200);
  for (let n = 0; n < 5; n++) assert.equal(await statusOf(newApiKey().token), 401);
  const find = t.mock.method(keys, "find");
  assert.equal(await statusOf(newApiKey().token), 429);
  assert.equal(await statusOf(late.token), 429, "an unknown key has to wait");
  assert.equal(find.mock.callCount(), 0);
  for (let n = 0; n < 20; n++) assert.equal(await statusOf(good.token), 200);
  await keys.revoke(good.key.id);
  assert.equal(await statusOf(good.token), 401, "a known key is still checked");
  assert.equal(await statusOf(good.token), 429, "after that it counts as unknown");
  setForward(60_000);
  assert.equal(await statusOf(late.token), 200);
});

test("good tokens and an unreachable database use up no tries", async (t) => {
  const { keys, statusOf } = await serve(t, { auth: "keys", failed_tries_per_minute: 2 });
  stopClock(t);
  const { find } = keys;
  keys.find = () => Promise.reject(new MucastError("unavailable", "the database is away"));
  const { token } = await keys.create("good", ["read"]);
  for (let n = 0; n < 5; n++) assert.equal(await statusOf(token), 503);
  keys.find = find;
  for (let n = 0; n < 6; n++) {
    const fresh = await keys.create(`k${n}`, ["read"]);
    assert.equal(await statusOf(fresh.token), 200);
  }
});

test("a caller's answer beyond the limit is refused until another one closes, and a closed connection is not counted", () => {
  const open = new OpenAnswers({ ofCaller: 2, all: 3, what: "requests" });
  const [first, second, third] = [new EventEmitter(), new EventEmitter(), new EventEmitter()];
  const gone = Object.assign(new EventEmitter(), { destroyed: true });
  for (let n = 0; n < 3; n++) open.begin("key:a", gone as never);
  open.begin("key:a", first as never);
  open.begin("key:a", second as never);
  assert.throws(() => open.begin("key:a", third as never), { code: "rate_limited" });
  open.begin("key:b", third as never);
  assert.throws(() => open.begin("key:c", new EventEmitter() as never), { code: "unavailable" });
  first.emit("close");
  open.begin("key:a", new EventEmitter() as never);
  assert.throws(() => open.begin("key:a", third as never), { code: "rate_limited" });
});
