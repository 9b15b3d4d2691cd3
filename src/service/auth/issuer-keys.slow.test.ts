import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeIssuer } from "./fake-issuer.testing.ts";
import { authenticateBy, DAY_SECONDS, fails, MINUTE, stoppedClock } from "./oidc-authenticate.testing.ts";

test("a service that starts while the issuer is away says when to retry, and asks it again after that time", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  issuer.status = 503;
  for (let n = 0; n < 10; n++) {
    await assert.rejects(authenticate(await issuer.token()), (error: { code?: string; message?: string }) => {
      assert.ok(!error.message!.includes(issuer.url), error.message);
      return error.code === "unavailable";
    });
  }
  assert.equal(issuer.requests, 1);
  issuer.status = 200;
  clock.time += MINUTE;
  await authenticate(await issuer.token());
});

test("known keys live on while the issuer is away, for as long as the setting says", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer, { keysSeconds: DAY_SECONDS });
  const exp = Math.floor(clock.time / 1_000) + 3 * DAY_SECONDS;
  const token = await issuer.token({ exp });
  await authenticate(token);
  issuer.status = 503;
  clock.time += 20 * MINUTE;
  for (let n = 0; n < 10; n++) await authenticate(token);
  assert.equal(issuer.requests, 3, "one failure is remembered");
  const unknown = await issuer.token({ exp }, { kid: "rotated-meanwhile" });
  await assert.rejects(authenticate(unknown), fails("unavailable"));
  clock.time += DAY_SECONDS * 1_000;
  await assert.rejects(authenticate(token), fails("unavailable"));
});

test("after an outage a key that the issuer has removed is no longer accepted", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  const old = await issuer.token({ exp: Math.floor(clock.time / 1_000) + DAY_SECONDS });
  await authenticate(old);
  issuer.status = 503;
  clock.time += 20 * MINUTE;
  await authenticate(old);
  issuer.status = 200;
  await issuer.rotate();
  clock.time += MINUTE;
  await assert.rejects(authenticate(old), fails("unauthorized"));
});

test("a discovery document of another issuer is not used", async (t) => {
  const issuer = await FakeIssuer.start(t);
  issuer.metadata = { issuer: "https://other.example" };
  await assert.rejects(authenticateBy(issuer)(await issuer.token()), fails("unavailable"));
});
