import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { FakeIssuer } from "./fake-issuer.testing.ts";
import { type OidcOptions, oidcAuthenticate } from "./oidc-authenticate.ts";

const SCOPES = { read: "mucast.read", write: "mucast.write" };

function authenticateBy(issuer: FakeIssuer, more: Partial<OidcOptions> = {}) {
  const authenticate = oidcAuthenticate({ issuer: issuer.url, audience: "mucast", scopes: SCOPES, ...more });
  return (token: string) => authenticate(`Bearer ${token}`);
}

function fails(code: string): (error: unknown) => boolean {
  return (error) => error instanceof MucastError && error.code === code;
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

test("a token of the issuer authenticates its subject, and the issuer's keys are fetched once", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
  for (let n = 0; n < 3; n++) {
    const { subject, scopes } = await authenticate(await issuer.token());
    assert.deepEqual([subject, [...scopes]], ["oidc:ann", ["read", "write"]]);
  }
  assert.deepEqual(Object.fromEntries(issuer.asked), { "/.well-known/openid-configuration": 1, "/keys": 1 });
});

test("the setting oidc_jwks_url replaces discovery", async (t) => {
  const issuer = await FakeIssuer.start(t);
  await authenticateBy(issuer, { jwksUrl: `${issuer.url}/elsewhere` })(await issuer.token());
  assert.deepEqual([...issuer.asked.keys()], ["/elsewhere"]);
});

test("only the claims scope, scp and roles give scopes", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
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
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
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
    { sub: "" },
    { sub: "x".repeat(256) },
  ]) {
    await assert.rejects(
      authenticate(await issuer.token(claims)),
      fails("unauthorized"),
      JSON.stringify(claims),
    );
  }
  await authenticate(await issuer.token({ exp: now - 5, aud: ["another", "mucast"] }));
});

test("a token that the issuer's keys have not signed is unauthorized, whatever its header says", async (t) => {
  const [issuer, forger] = [await FakeIssuer.start(t), await FakeIssuer.start(t)];
  const authenticate = authenticateBy(issuer);
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
    await assert.rejects(authenticate(token), fails("unauthorized"), name);
  }
});

test("a token with a new key makes the service fetch the keys, and then a token with the old key is unauthorized", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer, { cooldown: 0 });
  const before = await issuer.token();
  await authenticate(before);
  await issuer.rotate("ES256");
  assert.equal((await authenticate(await issuer.token())).subject, "oidc:ann");
  await assert.rejects(authenticate(before), fails("unauthorized"));
});

test("tokens with unknown keys do not cause a request to the issuer each", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
  await authenticate(await issuer.token());
  for (let n = 0; n < 5; n++) {
    await assert.rejects(
      authenticate(await issuer.token({}, { kid: `made-up-${n}` })),
      fails("unauthorized"),
    );
  }
  assert.equal(issuer.asked.get("/keys"), 1);
});

test("while the issuer cannot be reached, tokens are unavailable and the next one asks it again", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
  issuer.status = 503;
  await assert.rejects(authenticate(await issuer.token()), fails("unavailable"));
  issuer.status = 200;
  issuer.metadata = { jwks_uri: undefined };
  await assert.rejects(authenticate(await issuer.token()), fails("unavailable"));
  issuer.metadata = { issuer: "https://other.example" };
  await assert.rejects(authenticate(await issuer.token()), fails("unavailable"));
  issuer.metadata = {};
  await authenticate(await issuer.token());
  const named = authenticateBy(issuer, { jwksUrl: `${issuer.url}/keys` });
  issuer.status = 500;
  await assert.rejects(named(await issuer.token()), fails("unavailable"));
  issuer.status = 200;
  await named(await issuer.token());
});

test("the service reads at most 1 MiB of an endless answer of the issuer, and the next token asks it again", async (t) => {
  const issuer = await FakeIssuer.start(t);
  for (const path of ["/.well-known/openid-configuration", "/keys"]) {
    const authenticate = authenticateBy(issuer);
    issuer.endless = { path, bytes: 0 };
    await assert.rejects(authenticate(await issuer.token()), fails("unavailable"));
    // What lies in the buffers of the connection counts too.
    assert.ok(issuer.endless.bytes < 32 * 2 ** 20, `${path}: ${issuer.endless.bytes} bytes`);
    issuer.endless.path = "";
    await authenticate(await issuer.token());
  }
});

test("a subject has to be text that PostgreSQL can store", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
  for (const sub of ["a\0b", "a\nb", "a\ud800", "\udfffa", 7, ["ann"], { name: "ann" }, true, ""]) {
    await assert.rejects(
      authenticate(await issuer.token({ sub })),
      fails("unauthorized"),
      JSON.stringify(sub),
    );
  }
});
