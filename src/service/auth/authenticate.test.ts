import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Settings, settingsSchema } from "../../contract/settings.ts";
import { checkAuthAllowed, subjectsOf } from "./authenticate.ts";

const check = (given: Partial<Settings>) => checkAuthAllowed({ ...settingsSchema.parse({}), ...given });

function assertRefused(given: Partial<Settings>, path: string): void {
  const isRefusal = (error: unknown) =>
    error instanceof MucastError && error.code === "invalid_request" && error.data.path === path;
  assert.throws(() => check(given), isRefusal, JSON.stringify(given));
}

test("without authentication, checkAuthAllowed allows only loopback addresses", () => {
  for (const host of ["127.0.0.1", "127.9.9.9", "localhost", "::1"]) check({ host });
  for (const host of [
    ...["0.0.0.0", "::", "192.168.1.2", "example.com"],
    ...["127.0.0.1.example.com", "1270.0.0.1", "::ffff:127.0.0.1"],
  ]) {
    assertRefused({ host }, "auth");
    check({ host, auth: "keys" });
  }
});

test("checkAuthAllowed demands an issuer and an audience for OIDC, and https for URLs", () => {
  const oidc = { auth: "oidc", oidc_issuer: "https://id.example", oidc_audience: "mucast" } as const;
  check(oidc);
  check({ ...oidc, oidc_issuer: "http://127.0.0.1:9" });
  for (const [path, value] of [
    ["oidc_issuer", undefined],
    ["oidc_audience", undefined],
    ["oidc_audience", ""],
    ["oidc_issuer", "http://id.example"],
    ["oidc_jwks_url", "http://id.example/keys"],
  ] as const)
    assertRefused({ ...oidc, [path]: value }, path);
});

test("an issuer and a sub together make a subject", () => {
  const [FIRST, SECOND] = ["https://id.example", "https://id.example/"];
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
