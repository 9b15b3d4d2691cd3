import assert from "node:assert/strict";
import { test } from "node:test";
import { redactPath } from "./request-telemetry.ts";

const TOKEN = "aB3-_".repeat(9).slice(0, 43);

test("the token of a link is redacted, whatever is misspelt or surrounds it", () => {
  for (const path of [
    `/reports/${TOKEN}`,
    `/mucast/reports/${TOKEN}/x`,
    `/%2freports%2f${TOKEN}`,
    `/report/${TOKEN}.`,
    `/v1/report/%22${TOKEN}%22`,
    `/${TOKEN}/`,
    `/reports%5C${TOKEN}`,
    `/reports${TOKEN}`,
    `/report/${encodeURIComponent(TOKEN).replace("B", "%42")})`,
    `/data%2F${TOKEN}?x=1`,
  ]) {
    assert.doesNotMatch(redactPath(path), /aB3|a%423/, path);
  }
});

test("a path without a long text stays as it is, without its query", () => {
  assert.equal(
    redactPath("/v1/operation/0d9c1f5e-6f0a-4d1b-9a8e-3c5f7b2a1d04"),
    "/v1/operation/0d9c1f5e-6f0a-4d1b-9a8e-3c5f7b2a1d04",
  );
  assert.equal(redactPath("/nothing?key=1"), redactPath("/nothing"));
});
