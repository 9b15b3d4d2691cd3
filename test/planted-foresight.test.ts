import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanMarket } from "../bench/audit/clean-markets.ts";
import { foresightOf } from "../bench/audit/examined-market.ts";
import { type FaultName, plant } from "../bench/audit/planted-faults.ts";
import type { FindingCode } from "../src/audit/findings.ts";

const market = cleanMarket(1, { tickers: 20, days: 600 });

/** What is found of a fault in 1 of 26 features on 1 of 20 tickers. */
const FOUND = {
  "dated a day early": ["knows_next_price"],
  "centred moving average, 5 days": ["knows_next_price"],
  "centred mean of returns, 21 days": ["knows_later_return"],
  "whole-sample z-score": ["whole_sample_standardised"],
  "next price, scaled": ["equals_later_value", "knows_next_price"],
  "return 5 days later": ["equals_later_value", "knows_later_return"],
  "size of the next return": ["knows_next_price"],
  "missing before losses": ["missing_predicts_label"],
} as const satisfies Partial<Record<FaultName, readonly FindingCode[]>>;

test("a clean market has no finding", () => {
  const { findings, suspects } = foresightOf(market);
  assert.deepEqual(findings, []);
  assert.ok(suspects.tests > 20 * 26 * 60);
});

for (const [fault, codes] of Object.entries(FOUND)) {
  for (const feature of ["mom_5", "vol_21"]) {
    test(`${fault}, in ${feature} of one ticker, is found alone`, () => {
      // The other tickers are those of the clean market, with as many tests: a few of them keep this quick.
      const spoilt = plant(market, fault as FaultName, { ticker: "S07", feature });
      const few = { prices: spoilt.prices.slice(6, 9), features: spoilt.features.slice(6, 9) };
      const { findings } = foresightOf(few, 20 / 3);
      assert.deepEqual(findings.map(({ code }) => code).sort(), codes);
      for (const one of findings) assert.deepEqual([one.ticker, one.feature], ["S07", feature]);
    });
  }
}
