import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastClient } from "../../../client/index.ts";
import { knownBlobs, partnerOf, rememberBlob } from "./known-blobs.ts";

const HERE = "http://127.0.0.1:1";

test("blobs are offered by kind, the newest first, each once, and to the credentials that stored them alone", () => {
  const client = new MucastClient({ baseUrl: HERE });
  for (const name of ["feature_engine_a", "data_extractor_a", "feature_engine_b", "feature_engine_a"])
    rememberBlob(client, `${HERE}/data/${name}.json`);
  assert.deepEqual(knownBlobs(client, "feature_engine"), [
    `${HERE}/data/feature_engine_a.json`,
    `${HERE}/data/feature_engine_b.json`,
  ]);
  assert.equal(partnerOf(client, `${HERE}/data/feature_engine_a.json`), `${HERE}/data/data_extractor_a.json`);
  assert.equal(partnerOf(client, `${HERE}/data/feature_engine_b.json`), undefined);
  assert.equal(partnerOf(client, "https://elsewhere/x"), undefined);
  assert.deepEqual(knownBlobs(new MucastClient({ baseUrl: HERE }), "feature_engine"), []);
});

test("of many blobs the last ones are offered", () => {
  const client = new MucastClient({ baseUrl: HERE });
  for (let i = 0; i < 500; i++) rememberBlob(client, `${HERE}/data/feature_engine_${i}.json`);
  const offered = knownBlobs(client, "feature_engine");
  assert.equal(offered.length, 50);
  assert.equal(offered[0], `${HERE}/data/feature_engine_499.json`);
});
