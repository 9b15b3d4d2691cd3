import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "../contract/machine/pausable.ts";
import { coverageTable } from "./coverage.ts";

const NONE = Number.NaN;

function rows(ticker: string, triples: readonly (readonly [number, number, number])[]) {
  return {
    ticker,
    lower: Float64Array.from(triples, (triple) => triple[0]),
    realised: Float64Array.from(triples, (triple) => triple[1]),
    upper: Float64Array.from(triples, (triple) => triple[2]),
  };
}

test("a label on an end is covered, and rows without a label do not count", () => {
  const two = rows("B", [
    [0, 0, 2],
    [0, 2, 2],
    [0, 2.1, 2],
    [0, -0.1, 2],
    [0, NONE, 9],
  ]);
  const one = rows("A", [[1, 2, 5]]);
  const { pooled, by_ticker } = atOnce(coverageTable([two, one]));
  assert.deepEqual([...by_ticker.keys()], ["A", "B"]);
  assert.deepEqual(by_ticker.get("B"), { n: 4, coverage: 0.5, mean_width: 2 });
  assert.deepEqual(by_ticker.get("A"), { n: 1, coverage: 1, mean_width: 4 });
  assert.deepEqual(pooled, { n: 5, coverage: 0.6, mean_width: 2.4 });
});

test("a one-sided interval has no width", () => {
  const lower = rows("A", [
    [0, 1, NONE],
    [0, -1, NONE],
  ]);
  assert.deepEqual(atOnce(coverageTable([lower])).pooled, { n: 2, coverage: 0.5, mean_width: null });
  const upper = rows("A", [
    [NONE, 1, 2],
    [NONE, 3, 2],
  ]);
  assert.deepEqual(atOnce(coverageTable([upper])).pooled, { n: 2, coverage: 0.5, mean_width: null });
});

test("without intervals or without rows coverage is null, and the ticker is still listed", () => {
  const { pooled, by_ticker } = atOnce(coverageTable([rows("A", [[NONE, 1, NONE]]), rows("B", [])]));
  const none = { n: 0, coverage: null, mean_width: null };
  assert.deepEqual(pooled, none);
  assert.deepEqual(
    [...by_ticker],
    [
      ["A", none],
      ["B", none],
    ],
  );
});
