import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import type { MucastError } from "../../contract/errors/errors.ts";
import { settingsSchema } from "../../contract/settings.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { FakeIssuer } from "./fake-issuer.testing.ts";
import { oidcAuthenticate } from "./oidc-authenticate.ts";

const MINUTE = 60_000;
const DAY_SECONDS = 86_400;
const UNAUTHORIZED = { code: "unauthorized" };
const UNAVAILABLE = { code: "unavailable" };

/** A new issuer, and the authentication by its tokens. */
async function issuerFor(t: TestContext, jwksPath?: string) {
  const issuer = await FakeIssuer.start(t);
  const settings = settingsSchema.parse({
    oidc_issuer: issuer.url,
    oidc_audience: "mucast",
    oidc_jwks_url: jwksPath && issuer.url + jwksPath,
    oidc_keys_seconds: DAY_SECONDS,
  });
  const authenticate = oidcAuthenticate(settings, (sub) => `oidc:${sub}`, noLog);
  return { issuer, authenticate: (token: string) => authenticate(`Bearer ${token}`) };
}

/** A clock in milliseconds that a test sets forward, in place of both of the process. */
function stoppedClock(t: TestContext): { time: number } {
  const clock = { time: Date.now() };
  t.mock.method(performance, "now", () => clock.time);
  t.mock.method(Date, "now", () => clock.time);
  return clock;
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

test("a token of the issuer authenticates its subject; the keys are fetched once, by discovery or from oidc_jwks_url", async (t) => {
  for (const [jwksPath, paths] of [
    [undefined, ["/.well-known/openid-configuration", "/keys"]],
    ["/elsewhere", ["/elsewhere"]],
  ] as const) {
    const { issuer, authenticate } = await issuerFor(t, jwksPath);
    for (let n = 0; n < 3; n++) {
      const { subject, scopes } = await authenticate(await issuer.token());
      assert.deepEqual([subject, [...scopes]], ["oidc:ann", ["read", "write"]]);
    }
    assert.deepEqual(
      [...issuer.requestsByPath],
      paths.map((path) => [path, 1]),
    );
  }
});

test("only the claims scope, scp and roles give scopes", async (t) => {
  const { issuer, authenticate } = await issuerFor(t);
  for (const [claims, scopes] of [
    [{ scope: "mucast.read" }, ["read"]],
    [{ scp: "mucast.write other" }, ["write"]],
    [{ scp: ["mucast.read"] }, ["read"]],
    [{ roles: ["mucast.read", "mucast.write", 7] }, ["read", "write"]],
    [{ scope: "mucast.readonly MUCAST.READ admin" }, []],
    [{ permissions: ["mucast.read"] }, []],
  ] as const) {
    const caller = await authenticate(await issuer.token({ scope: undefined, ...claims }));
    assert.deepEqual([...caller.scopes], scopes, JSON.stringify(claims));
  }
});

test("a token of another issuer, for another audience, of another time or without a subject is unauthorized", async (t) => {
  const { issuer, authenticate } = await issuerFor(t);
  const now = Math.floor(Date.now() / 1_000);
  for (const claims of [
    { iss: "https://other.example" },
    { iss: `${issuer.url}/` },
    { aud: "another" },
    { aud: undefined },
    { exp: now - 60 },
    { exp: undefined },
    { nbf: now + 120 },
    { sub: undefined },
    ...["", "x".repeat(256), 7, ["ann"], { name: "ann" }, true].map((sub) => ({ sub })),
    // PostgreSQL cannot store them, or cannot tell them apart.
    ...["a\0b", "a\nb", "a\ud800", "\udfffa"].map((sub) => ({ sub })),
  ]) {
    await assert.rejects(authenticate(await issuer.token(claims)), UNAUTHORIZED, JSON.stringify(claims));
  }
  await authenticate(await issuer.token({ exp: now - 5, aud: ["another", "mucast"] }));
});

test("a token that the issuer's keys have not signed is unauthorized, whatever its header says", async (t) => {
  const { issuer, authenticate } = await issuerFor(t);
  const forger = await FakeIssuer.start(t);
  const good = await issuer.token();
  const [header, payload, signature] = good.split(".") as [string, string, string];
  const forged = await forger.token({ iss: issuer.url });
  const { keys } = (await (await fetch(`${issuer.url}/keys`)).json()) as { keys: { n: string }[] };
  const symmetric = `${base64url({ alg: "HS256", kid: "key-1" })}.${payload}`;
  const hmac = createHmac("sha256", keys[0]!.n).update(symmetric).digest("base64url");
  for (const [name, token] of Object.entries({
    "alg none": `${base64url({ alg: "none" })}.${payload}.`,
    "no signature": `${header}.${payload}.`,
    "another key of the same id": forged,
    "an unknown key": await issuer.token({}, { kid: "unknown" }),
    "the public key as a secret": `${symmetric}.${hmac}`,
    "changed claims": `${header}.${base64url({ iss: issuer.url, aud: "mucast", sub: "eve", exp: 9e9 })}.${signature}`,
    "a key in the token": `${base64url({ alg: "RS256", jwk: keys[0] })}.${payload}.${signature}`,
    "no token": "abc",
    "an API key": "mucast_0123456789abcdef_x",
  })) {
    await assert.rejects(authenticate(token), UNAUTHORIZED, name);
  }
});

test("a token for another purpose, or that is bound to a key of its holder, is unauthorized", async (t) => {
  const { issuer, authenticate } = await issuerFor(t);
  for (const cnf of [{ jkt: "a-thumbprint" }, { "x5t#S256": "a-thumbprint" }, {}, null]) {
    await assert.rejects(authenticate(await issuer.token({ cnf })), {
      ...UNAUTHORIZED,
      message: /claim cnf.*plain bearer token/,
    });
  }
  for (const typ of ["logout+jwt", "dpop+jwt"]) {
    await assert.rejects(authenticate(await issuer.token({}, { typ })), UNAUTHORIZED);
  }
  for (const typ of ["JWT", "at+jwt", "application/at+jwt", undefined])
    await authenticate(await issuer.token({}, { typ }));
});

test("a service that starts while the issuer is away says when to retry, and asks it again after that time", async (t) => {
  const { issuer, authenticate } = await issuerFor(t);
  const clock = stoppedClock(t);
  issuer.status = 503;
  for (let n = 0; n < 10; n++) {
    await assert.rejects(
      authenticate(await issuer.token()),
      ({ code, message }: MucastError) => code === "unavailable" && !message.includes(issuer.url),
    );
  }
  assert.equal(issuer.requests, 1);
  issuer.status = 200;
  clock.time += MINUTE;
  await authenticate(await issuer.token());
});

test("known keys live on while the issuer is away, for as long as the setting says", async (t) => {
  const { issuer, authenticate } = await issuerFor(t);
  const clock = stoppedClock(t);
  const exp = Math.floor(clock.time / 1_000) + 3 * DAY_SECONDS;
  const token = await issuer.token({ exp });
  await authenticate(token);
  issuer.status = 503;
  clock.time += 20 * MINUTE;
  for (let n = 0; n < 10; n++) await authenticate(token);
  assert.equal(issuer.requests, 3, "one failure is remembered");
  const unknown = await issuer.token({ exp }, { kid: "rotated-meanwhile" });
  await assert.rejects(authenticate(unknown), UNAVAILABLE);
  clock.time += DAY_SECONDS * 1_000;
  await assert.rejects(authenticate(token), UNAVAILABLE);
  issuer.status = 200;
  await issuer.rotate();
  clock.time += MINUTE;
  await assert.rejects(authenticate(token), UNAUTHORIZED, "the issuer has removed its key");
});

test("a discovery document of another issuer is not used", async (t) => {
  const { issuer, authenticate } = await issuerFor(t);
  issuer.metadata = { issuer: "https://other.example" };
  await assert.rejects(authenticate(await issuer.token()), UNAVAILABLE);
});
