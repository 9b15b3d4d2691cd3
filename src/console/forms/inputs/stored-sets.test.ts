import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredBlobView } from "../../../client/index.ts";
import { setsOf, storedAt } from "./stored-sets.ts";

function blob(name: string, minute: number): StoredBlobView {
  const kind = name.startsWith("feature") ? "features" : "prices";
  const created_at = `2026-01-05T08:${String(minute).padStart(2, "0")}:00.000Z`;
  return { name, url: `http://127.0.0.1/data/${name}`, kind, size: 1, created_at };
}

test("blobs with the same id are a set, the newest set comes first, and a blob without its partner is in none", () => {
  const sets = setsOf(
    [blob("feature_engine_a.json", 9), blob("feature_engine_b.json", 1), blob("feature_engine_c.json", 3)],
    [blob("data_extractor_b.json", 20), blob("data_extractor_a.json", 2), blob("data_extractor_d.json", 30)],
  );
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
    setsOf([blob(features, 3)], prices).map((set) => [set.features.name, set.prices.name]);
  assert.deepEqual(pair("feature_engine_a.parquet"), [
    ["feature_engine_a.parquet", "data_extractor_a.parquet"],
  ]);
  assert.deepEqual(
    setsOf([blob("feature_engine_a.json", 3)], prices.slice(1)).map((set) => set.prices.name),
    ["data_extractor_a.parquet"],
  );
});
