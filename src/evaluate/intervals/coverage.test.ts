import assert from "node:assert/strict";
import { test } from "node:test";
import { type CoveredRows, coverageTable, scoreRatio } from "./coverage.ts";

const NONE = Number.NaN;
/** Rows of one ticker from their lower end, label and upper end. */
function rows(triples: readonly (readonly [number, number, number])[], more: Partial<CoveredRows> = {}) {
  const column = (of: 0 | 1 | 2) => Float64Array.from(triples, (triple) => triple[of]);
  return {
    ...{ ticker: "A", days: Int32Array.from(triples.keys()), volatility: column(0) },
    ...{ lower: column(0), realised: column(1), upper: column(2), predicted: column(0) },
    ...more,
  };
}

test("reports the worst 250 successive rows of one ticker, and null for fewer rows", () => {
  const missing = new Set([100, 101, 300, 301, 302, 549, 551]);
  const triples = Array.from({ length: 600 }, (_, i) => [0, missing.has(i) ? 3 : 1, 2] as const);
  const table = coverageTable([rows(triples), rows(triples.slice(0, 249), { ticker: "B" })], 0.1);
  // Only rows 100 to 349 contain five misses.
  const worst = (250 - 5) / 250;
  assert.deepEqual([table.by_ticker.get("A")!.worst_250, table.pooled.worst_250], [worst, worst]);
  assert.equal(table.by_ticker.get("B")!.worst_250, null);
});

test("a ratio of scores is the mean over tickers of the tickers' ratios, on rows for which both have ends", () => {
  const narrow = rows([
    [0, 1, 2],
    [NONE, 1, NONE],
  ]);
  const wide = rows([
    [-1, 1, 3],
    [0, 1, 9],
  ]);
  assert.equal(scoreRatio([[narrow, wide]], 0.1), 0.5);
  const pairs = [
    [narrow, wide],
    [wide, wide],
  ] as const;
  assert.equal(scoreRatio(pairs, 0.1), 0.75);
  assert.equal(scoreRatio([[rows([]), rows([])]], 0.1), null);
});
