import assert from "node:assert/strict";
import { test } from "node:test";
import { redactPath } from "./redact-path.ts";

const TOKEN = "aB3-_".repeat(9).slice(0, 43);

test("the token of a link is redacted, also in a path that misspells it", () => {
  for (const path of [
    `/reports/${TOKEN}`,
    `/mucast/reports/${TOKEN}/x`,
    `/%2freports%2f${TOKEN}`,
    `/report/${TOKEN}`,
    `/${TOKEN}/`,
    `/data%2F${TOKEN}?x=1`,
  ]) {
    assert.doesNotMatch(redactPath(path), /aB3/, path);
  }
});

test("names of blobs and ids of operations are not", () => {
  const paths = [
    "/v1/operations/0d9c1f5e-6f0a-4d1b-9a8e-3c5f7b2a1d04",
    `/data/feature_engine_${"x".repeat(43)}.json`,
  ];
  for (const path of paths) assert.equal(redactPath(path), path);
});
