import assert from "node:assert/strict";
import { test } from "node:test";
import { bouncing, cleanDays, withGaps, withLaterStart } from "../bench/audit/clean-markets.ts";
import { foresightOf, restatementOf } from "../bench/audit/examined-market.ts";
import { meanAutocorrelation } from "../bench/audit/thin-markets.ts";
import { CLEAN_DAYS, HALF_SPREAD, TICKERS, testFaultsIn } from "./planted-faults.testing.ts";

test("a clean market has no finding, and none in rewritten data", () => {
  const { findings, tests } = foresightOf(CLEAN_DAYS.today);
  assert.deepEqual(findings, []);
  assert.ok(tests > TICKERS * 26 * 60);
  assert.deepEqual(restatementOf(CLEAN_DAYS), []);
});

test("dates without a price and a moved window leave a clean market clean", () => {
  const few = cleanDays(2, { tickers: 5, days: 400 });
  for (const kind of [withGaps(few, 1), withLaterStart(few)]) {
    assert.deepEqual([...foresightOf(kind.today).findings, ...restatementOf(kind)], []);
  }
});

test("prices that bounce between bid and ask leave a clean market clean, although each predicts the next return", () => {
  const thin = bouncing(cleanDays(3, { tickers: 5, days: 600 }), 3, HALF_SPREAD).today;
  assert.ok(meanAutocorrelation(thin) < -0.25);
  assert.deepEqual(foresightOf(thin).findings, []);
});

testFaultsIn("mom_5");
