import assert from "node:assert/strict";
import { test } from "node:test";
import { onEachDatabase } from "../database/databases.testing.ts";
import { firstIssuer, subjectsOf } from "./authenticate.ts";

const [FIRST, SECOND] = ["https://id.example", "https://id.example/"];

onEachDatabase((tested) => {
  test("the first issuer stays the first one, even if several services start at once", async () => {
    const first = (issuer: string) => firstIssuer(tested.database(), issuer);
    const answers = await Promise.all([FIRST, SECOND, FIRST, SECOND].map(first));
    assert.equal(new Set(answers).size, 1, String(answers));
    assert.equal(await first("https://other.example"), answers[0]);
  });
});

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
