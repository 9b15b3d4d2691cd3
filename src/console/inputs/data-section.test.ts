import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredBlobView } from "../../client/index.ts";
import { setsOf } from "./data-section.ts";

function blob(name: string, minute: number): StoredBlobView {
  const kind = name.startsWith("feature") ? "features" : "prices";
  const created_at = `2026-01-05T08:${String(minute).padStart(2, "0")}:00.000Z`;
  return { name, url: `http://127.0.0.1/data/${name}`, kind, size: 1, created_at };
}

test("blobs with the same id are a set, the newest set comes first, and a blob without its partner is in none", () => {
  const features = ["a", "b", "c"].map((id, i) => blob(`feature_engine_${id}.json`, [9, 1, 3][i]!));
  const prices = ["b", "a", "d"].map((id, i) => blob(`data_extractor_${id}.json`, [20, 2, 30][i]!));
  assert.deepEqual(
    setsOf(features, prices).map(({ id }) => id),
    ["b", "a"],
  );
});

test("a set has blobs of one format if both are there, otherwise of two", () => {
  const prices = [blob("data_extractor_a.json", 1), blob("data_extractor_a.parquet", 2)];
  const pair = (...partners: StoredBlobView[]) =>
    setsOf([blob("feature_engine_a.json", 3)], partners).map((set) => set.prices.name);
  assert.deepEqual(pair(...prices), ["data_extractor_a.json"]);
  assert.deepEqual(pair(prices[1]!), ["data_extractor_a.parquet"]);
});
