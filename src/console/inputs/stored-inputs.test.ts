import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredBlobView } from "../../client/index.ts";
import { setsOf, storedAt, urlsFor } from "./stored-inputs.ts";

function blob(name: string, minute: number): StoredBlobView {
  const kind = name.startsWith("feature") ? "features" : "prices";
  const created_at = `2026-01-05T08:${String(minute).padStart(2, "0")}:00.000Z`;
  return { name, url: `http://127.0.0.1/data/${name}`, kind, size: 1, created_at };
}

test("blobs with the same id are a set, the newest set comes first, and a blob without its partner is in none", () => {
  const stored = {
    features: ["a", "b", "c"].map((id, i) => blob(`feature_engine_${id}.json`, [9, 1, 3][i]!)),
    prices: ["b", "a", "d"].map((id, i) => blob(`data_extractor_${id}.json`, [20, 2, 30][i]!)),
  };
  const sets = setsOf(stored);
  const url = (name: string) => `http://127.0.0.1/data/${name}.json`;
  assert.deepEqual(
    urlsFor(stored, ["previous_feature_url"]),
    ["a", "b", "c"].map((id) => url(`feature_engine_${id}`)),
  );
  assert.deepEqual(urlsFor(stored, ["tags"]), []);
  assert.deepEqual(
    sets.map((set) => [set.id, storedAt(set)]),
    [
      ["b", "2026-01-05T08:20:00.000Z"],
      ["a", "2026-01-05T08:09:00.000Z"],
    ],
  );
});

test("a set has blobs of one format if both are there, otherwise of two", () => {
  const prices = [blob("data_extractor_a.json", 1), blob("data_extractor_a.parquet", 2)];
  const pair = (features: string) =>
    setsOf({ features: [blob(features, 3)], prices }).map((set) => [set.features.name, set.prices.name]);
  assert.deepEqual(pair("feature_engine_a.parquet"), [
    ["feature_engine_a.parquet", "data_extractor_a.parquet"],
  ]);
  assert.deepEqual(
    setsOf({ features: [blob("feature_engine_a.json", 3)], prices: prices.slice(1) }).map(
      (set) => set.prices.name,
    ),
    ["data_extractor_a.parquet"],
  );
});
