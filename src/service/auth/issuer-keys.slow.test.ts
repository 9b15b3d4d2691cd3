import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { FakeIssuer } from "./fake-issuer.testing.ts";
import { authenticateBy, DAY_SECONDS, fails, MINUTE, stoppedClock } from "./oidc-authenticate.testing.ts";

test("a token with a new key makes the service fetch the keys, and then a token with the old key is unauthorized", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  const before = await issuer.token();
  await authenticate(before);
  await issuer.rotate("ES256");
  clock.time += MINUTE / 2;
  assert.equal((await authenticate(await issuer.token())).subject, "oidc:ann");
  await assert.rejects(authenticate(before), fails("unauthorized"));
});

test("tokens with unknown keys do not each cause a request to the issuer", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  await authenticate(await issuer.token());
  for (let n = 0; n < 5; n++) {
    await assert.rejects(
      authenticate(await issuer.token({}, { kid: `made-up-${n}` })),
      fails("unauthorized"),
    );
  }
  assert.equal(issuer.requestsByPath.get("/keys"), 1);
  clock.time += MINUTE / 2;
  const forged = await Promise.all([1, 2, 3].map((n) => issuer.token({}, { kid: `made-up-${n}` })));
  await Promise.all(forged.map((token) => assert.rejects(authenticate(token), fails("unauthorized"))));
  assert.equal(issuer.requestsByPath.get("/keys"), 2, "one fetch for all of them");
});

test("while the issuer is away, well-formed tokens cause one fetch, and the next one after a while", async (t) => {
  const issuer = await FakeIssuer.start(t);
  issuer.status = 503;
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  const forged = await Promise.all(
    Array.from({ length: 200 }, (_, n) => issuer.token({}, { kid: `made-up-${n}` })),
  );
  await Promise.all(forged.map((token) => assert.rejects(authenticate(token), fails("unavailable"))));
  for (const token of forged) await assert.rejects(authenticate(token), fails("unavailable"));
  assert.equal(issuer.requests, 1);
  const pauses = [5, 10, 20, 40, 60, 60];
  for (const [index, seconds] of pauses.entries()) {
    clock.time += seconds * 1_000 - 1;
    await assert.rejects(authenticate(forged[0]!), (error: unknown) => {
      assert.ok(error instanceof MucastError);
      return error.code === "unavailable" && error.data.retryAfter === 1;
    });
    assert.equal(issuer.requests, index + 1);
    clock.time += 1;
    await assert.rejects(authenticate(forged[0]!), fails("unavailable"));
    assert.equal(issuer.requests, index + 2);
  }
  issuer.status = 200;
  clock.time += MINUTE;
  await authenticate(await issuer.token());
});

test("while the issuer cannot be reached, tokens are unavailable, and none of its answers is used as keys", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  const good = await issuer.token();
  const isAway = async () => {
    await assert.rejects(authenticate(good), (error: unknown) => {
      assert.ok(error instanceof MucastError);
      assert.equal(error.message, "the keys of the OIDC issuer cannot be read now");
      assert.ok(!JSON.stringify(error.data).includes("127.0.0.1"));
      return error.code === "unavailable";
    });
    clock.time += MINUTE;
  };
  issuer.status = 503;
  await isAway();
  issuer.status = 200;
  issuer.metadata = { jwks_uri: undefined };
  await isAway();
  issuer.metadata = { issuer: "https://other.example" };
  await isAway();
  issuer.metadata = { jwks_uri: `${issuer.url}/.well-known/openid-configuration` };
  await isAway();
  issuer.metadata = {};
  await authenticate(good);
  const named = authenticateBy(issuer, { jwksUrl: `${issuer.url}/keys` });
  issuer.status = 500;
  await assert.rejects(named(good), fails("unavailable"));
  issuer.status = 200;
  clock.time += MINUTE;
  await named(good);
});

test("while the issuer is away, the service checks tokens by the known keys for as long as the setting says", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const messages: string[] = [];
  const log = {
    info: (_: object, text: string) => void messages.push(text),
    warn: (_: object, text: string) => void messages.push(text),
  };
  const authenticate = authenticateBy(issuer, { log });
  const token = await issuer.token();
  await authenticate(token);
  issuer.status = 503;
  const fetches = issuer.requests;
  clock.time += 10 * MINUTE;
  for (let n = 0; n < 5; n++) await authenticate(token);
  assert.equal(issuer.requests, fetches + 1, "the failed fetch is remembered");
  clock.time = (DAY_SECONDS - 1) * 1_000;
  await authenticate(token);
  await assert.rejects(authenticate(await issuer.token({}, { kid: "new" })), fails("unavailable"));
  clock.time = DAY_SECONDS * 1_000;
  await assert.rejects(authenticate(token), fails("unavailable"));
  issuer.status = 200;
  clock.time += MINUTE;
  await authenticate(token);
  assert.match(messages.at(-1)!, /can be read again/);
  assert.match(messages[0]!, /checked by the known keys/);
});

test("after ten minutes the service asks for the keys again, and a removed key is no longer accepted", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  const removed = await issuer.token();
  await authenticate(removed);
  await issuer.rotate();
  clock.time = 10 * MINUTE - 1;
  await authenticate(removed);
  clock.time = 10 * MINUTE;
  await assert.rejects(authenticate(removed), fails("unauthorized"));
});

test("after an outage a removed key becomes invalid with the next fetch, which no request waits for", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  const removed = await issuer.token();
  await authenticate(removed);
  issuer.status = 503;
  clock.time = 10 * MINUTE;
  await authenticate(removed);
  issuer.status = 200;
  await issuer.rotate();
  clock.time += 5_000;
  await authenticate(removed);
  await authenticate(await issuer.token());
  await assert.rejects(authenticate(removed), fails("unauthorized"));
});

test("after an outage and a time without requests, a removed key is not accepted again", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const clock = stoppedClock(t);
  const authenticate = authenticateBy(issuer);
  const removed = await issuer.token();
  await authenticate(removed);
  issuer.status = 503;
  clock.time = 10 * MINUTE;
  await authenticate(removed);
  issuer.status = 200;
  await issuer.rotate();
  clock.time += 2 * MINUTE;
  await assert.rejects(authenticate(removed), fails("unauthorized"));
});

test("odd members of a key set do not spoil the others", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const weak = generateKeyPairSync("rsa", { modulusLength: 1_024 });
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  issuer.members = [
    ...[
      null,
      7,
      "key",
      [],
      {},
      { kty: "oct", k: "c2VjcmV0", kid: "key-1" },
      { kty: "AKP", alg: "ML-DSA-44" },
    ],
    { ...rsa.privateKey.export({ format: "jwk" }), kid: "key-1" },
    { ...rsa.publicKey.export({ format: "jwk" }), kid: "key-1", use: "enc", alg: "RSA-OAEP" },
    { ...rsa.publicKey.export({ format: "jwk" }), kid: "key-1", key_ops: ["encrypt"] },
    { ...rsa.publicKey.export({ format: "jwk" }), kid: 7 },
    { ...weak.publicKey.export({ format: "jwk" }), kid: "key-1" },
    { ...ec, x: ec.y, kid: "key-1" },
    { ...ec, crv: "P-999", kid: "key-1" },
    { kty: "RSA", n: "!", e: "AQAB", kid: "key-1" },
    { kty: "RSA", e: "AQAB", kid: "key-1" },
    // Odd only in a member that no check needs.
    { ...rsa.publicKey.export({ format: "jwk" }), kid: "key-1", ext: "yes", x5c: 7 },
  ];
  const authenticate = authenticateBy(issuer);
  assert.equal((await authenticate(await issuer.token())).subject, "oidc:ann");
  assert.equal((await authenticate(await issuer.token({}, { kid: undefined }))).subject, "oidc:ann");
});

test("a key set of only odd members is read, and accepts no token", async (t) => {
  const [issuer, other] = [await FakeIssuer.start(t), await FakeIssuer.start(t)];
  issuer.members = [null];
  await issuer.rotate("ES256");
  const authenticate = authenticateBy(issuer);
  await assert.rejects(authenticate(await other.token({ iss: issuer.url })), fails("unauthorized"));
});

test("the service uses the first 100 keys of a very large key set", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  issuer.members = Array.from({ length: 99 }, () => ec);
  await authenticateBy(issuer)(await issuer.token());
  issuer.members = Array.from({ length: 100 }, () => ec);
  await assert.rejects(authenticateBy(issuer)(await issuer.token()), fails("unauthorized"));
});

test("the service reads at most 1 MiB of an endless answer of the issuer, and asks it again later", async (t) => {
  const issuer = await FakeIssuer.start(t);
  for (const path of ["/.well-known/openid-configuration", "/keys"]) {
    const clock = stoppedClock(t);
    const authenticate = authenticateBy(issuer);
    issuer.endless = { path, bytes: 0 };
    await assert.rejects(authenticate(await issuer.token()), fails("unavailable"));
    // Bytes in the buffers of the connection count, too.
    assert.ok(issuer.endless.bytes < 32 * 2 ** 20, `${path}: ${issuer.endless.bytes} bytes`);
    issuer.endless.path = "";
    clock.time += 5_000;
    await authenticate(await issuer.token());
  }
});
