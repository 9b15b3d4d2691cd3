import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "./panel.ts";
import { spansOf } from "./section.ts";

const plain = (count: number) => Array.from({ length: count }, () => ({}));

test("every row of panels is full: thirds, then halves", () => {
  const shares = { third: 2, half: 3, wide: 6 };
  for (let count = 1; count < 30; count++) {
    let filled = 0;
    for (const span of spansOf(plain(count))) {
      const share = shares[span as keyof typeof shares];
      assert.ok((filled % 6) + share <= 6, `${count} panels`);
      filled += share;
    }
    assert.equal(filled % 6, 0, `${count} panels`);
  }
});

test("a wide panel ends a row, and both measures of order share a place", () => {
  assert.deepEqual(spansOf([{}, {}, { isWide: true }, {}]), ["half", "half", "wide", "wide"]);
  const both = [{ measure: "rank" }, { measure: "ic" }] as const;
  assert.deepEqual(spansOf([...both, ...both, {}]), ["third", "third", "third", "third", "third"]);
  assert.deepEqual(spansOf(both), ["wide", "wide"]);
});

test("from 50 rows on, a list has its ends and says how many rows are between them", () => {
  const rows = (count: number) => Array.from({ length: count }, (_, i) => i);
  assert.deepEqual(ends(rows(49)), { shown: rows(49) });
  const { shown, gap } = ends(rows(50));
  assert.deepEqual([shown.length, shown[9], shown[10], gap], [20, 9, 40, { after: 10, rows: 30 }]);
});
