import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { FakeIssuer } from "./fake-issuer.testing.ts";
import { authenticateBy, base64url, fails } from "./oidc-authenticate.testing.ts";

test("a token of the issuer authenticates its subject, and the issuer's keys are fetched once", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
  for (let n = 0; n < 3; n++) {
    const { subject, scopes } = await authenticate(await issuer.token());
    assert.deepEqual([subject, [...scopes]], ["oidc:ann", ["read", "write"]]);
  }
  assert.deepEqual(Object.fromEntries(issuer.requestsByPath), {
    "/.well-known/openid-configuration": 1,
    "/keys": 1,
  });
});

test("the setting oidc_jwks_url replaces discovery", async (t) => {
  const issuer = await FakeIssuer.start(t);
  await authenticateBy(issuer, { jwksUrl: `${issuer.url}/elsewhere` })(await issuer.token());
  assert.deepEqual([...issuer.requestsByPath.keys()], ["/elsewhere"]);
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

test("a token without a key id is tried against all keys of its kind", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
  const first = await issuer.token({}, { kid: undefined });
  await issuer.rotate("RS256", { keepsOld: true });
  const second = await issuer.token({}, { kid: undefined });
  await issuer.rotate("ES256", { keepsOld: true });
  for (const token of [first, second, await issuer.token({}, { kid: undefined })]) await authenticate(token);
  const other = await FakeIssuer.start(t);
  const forged = await other.token({ iss: issuer.url }, { kid: undefined });
  await assert.rejects(authenticate(forged), fails("unauthorized"));
});

test("a token for another purpose, or that is bound to a key of its holder, is unauthorized", async (t) => {
  const issuer = await FakeIssuer.start(t);
  const authenticate = authenticateBy(issuer);
  for (const cnf of [{ jkt: "a-thumbprint" }, { "x5t#S256": "a-thumbprint" }, {}, null]) {
    await assert.rejects(authenticate(await issuer.token({ cnf })), (error: unknown) => {
      assert.ok(error instanceof MucastError && /claim cnf.*plain bearer token/.test(error.message));
      return error.code === "unauthorized";
    });
  }
  for (const typ of ["logout+jwt", "dpop+jwt"]) {
    await assert.rejects(authenticate(await issuer.token({}, { typ })), fails("unauthorized"));
  }
  for (const typ of ["JWT", "at+jwt", "application/at+jwt", undefined])
    await authenticate(await issuer.token({}, { typ }));
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
