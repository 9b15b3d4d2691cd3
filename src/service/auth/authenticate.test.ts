import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Settings, settingsSchema } from "../../contract/settings.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { buildAuthenticate, checkAuthAllowed, subjectsOf } from "./authenticate.ts";
import { FakeKeyStore } from "./fake-key-store.testing.ts";
import { parseApiKey } from "./key-store.ts";

const keys = new FakeKeyStore();
const parts = { keys, firstIssuer: async (issuer: string) => issuer, log: noLog };

function settingsOf(given: Partial<Settings>): Settings {
  return { ...settingsSchema.parse({}), ...given };
}

const UNAUTHORIZED = { code: "unauthorized" };

test("without authentication, checkAuthAllowed allows only loopback addresses", () => {
  for (const host of ["127.0.0.1", "127.9.9.9", "localhost", "::1"]) checkAuthAllowed(settingsOf({ host }));
  for (const host of [
    "0.0.0.0",
    "::",
    "192.168.1.2",
    "example.com",
    "127.0.0.1.example.com",
    "1270.0.0.1",
    "::ffff:127.0.0.1",
  ]) {
    assert.throws(
      () => checkAuthAllowed(settingsOf({ host })),
      (error) =>
        error instanceof MucastError && error.code === "invalid_request" && error.data.path === "auth",
      host,
    );
    checkAuthAllowed(settingsOf({ host, auth: "keys" }));
  }
});

test("checkAuthAllowed demands an issuer and an audience for OIDC, and https for URLs", () => {
  const oidc = { auth: "oidc", oidc_issuer: "https://id.example", oidc_audience: "mucast" } as const;
  checkAuthAllowed(settingsOf(oidc));
  checkAuthAllowed(settingsOf({ ...oidc, oidc_issuer: "http://127.0.0.1:9" }));
  for (const [given, path] of [
    [{ oidc_issuer: undefined }, "oidc_issuer"],
    [{ oidc_audience: undefined }, "oidc_audience"],
    [{ oidc_audience: "" }, "oidc_audience"],
    [{ oidc_issuer: "http://id.example" }, "oidc_issuer"],
    [{ oidc_jwks_url: "http://id.example/keys" }, "oidc_jwks_url"],
  ] as const) {
    assert.throws(
      () => checkAuthAllowed(settingsOf({ ...oidc, ...given } as Partial<Settings>)),
      (error) => error instanceof MucastError && error.data.path === path,
      path,
    );
  }
});

test("without authentication every caller is local, and only the operator has the scope admin", async () => {
  const authenticate = await buildAuthenticate(settingsOf({}), { ...parts, localToken: "the-token" });
  for (const header of [undefined, "Bearer other", "Basic x", "Bearer", "nonsense \u0000"]) {
    const { subject, scopes } = await authenticate(header);
    assert.deepEqual([subject, [...scopes]], ["local", ["read", "write"]]);
  }
  const operator = await authenticate("Bearer the-token");
  assert.deepEqual([operator.subject, [...operator.scopes]], ["local", ["read", "write", "admin"]]);
});

test("in the mode keys, only a valid key that is not revoked and the operator's token authenticate", async () => {
  const authenticate = await buildAuthenticate(settingsOf({ auth: "keys", host: "0.0.0.0" }), {
    ...parts,
    localToken: "the-token",
  });
  const { key, token } = await keys.create("x", ["read"]);
  const other = await keys.create("y", ["read"]);
  const { secret } = parseApiKey(other.token)!;
  assert.equal((await authenticate(`bearer ${token}`)).subject, `key:${key.id}`);
  assert.equal((await authenticate("Bearer the-token")).subject, "local");
  for (const header of [
    undefined,
    "",
    "Bearer ",
    token,
    `Basic ${token}`,
    `Bearer ${token} ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token.toUpperCase()}`,
    `Bearer mucast_${key.id}_${secret}`,
    `Bearer mucast_${"0".repeat(16)}_${secret}`,
    `Bearer ${"a".repeat(9_000)}`,
  ]) {
    await assert.rejects(authenticate(header), ({ code, message }: MucastError) => {
      assert.ok(!message.includes(token.slice(30, 50)), message);
      return code === "unauthorized";
    });
  }
  await keys.revoke(key.id);
  await assert.rejects(authenticate(`Bearer ${token}`), UNAUTHORIZED);
});

const [FIRST, SECOND] = ["https://id.example", "https://id.example/"];

test("an issuer and a sub together make a subject", () => {
  assert.equal(subjectsOf(FIRST, FIRST)("ann"), "oidc:ann");
  const other = subjectsOf(SECOND, FIRST);
  assert.match(other("ann"), /^oidc-[0-9a-f]{16}:ann$/);
  assert.equal(other("ann"), subjectsOf(SECOND, "https://another.example")("ann"));
  const hostile = other("ann").slice("oidc".length);
  const subjects = [FIRST, SECOND, "https://other.example"].flatMap((issuer) =>
    ["ann", "ben", hostile, hostile.slice(1)].map(subjectsOf(issuer, FIRST)),
  );
  assert.equal(new Set(subjects).size, subjects.length);
});
