import assert from "node:assert/strict";
import { test } from "node:test";
import { worthOf } from "./run-worth.ts";

test("a run with fewer than five tickers shows no IC", () => {
  const band = { ic_low: 0.0312, ic_high: 0.0554, r2: null, coverage: null, nominal_coverage: null };
  const verdict = {
    state: "skill",
    title: "Evidence of skill",
    rows: "score",
    dates: 90,
    ic: 0.0433,
  } as const;
  const worth = (tickers: number) =>
    worthOf({
      ...{ model: "ridge", fit: "pooled", as_of: "2026-01-02", tickers, failed: 0 },
      verdict: { ...verdict, ...band },
    });
  assert.deepEqual(worth(5), ["pooled ridge", "Evidence of skill", "IC +0.043 (+0.031 to +0.055)"]);
  assert.deepEqual(worth(4), ["pooled ridge", "Evidence of skill"]);
});
