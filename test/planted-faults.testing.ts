/** A clean market of 20 tickers, and what the audit finds once a fault is planted in one of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanDays, type TwoDays } from "../bench/audit/clean-markets.ts";
import { foresightOf, restatementOf } from "../bench/audit/examined-market.ts";
import { type BlobFault, FAULTS, type FaultName, isOf } from "../bench/audit/planted-faults.ts";

export const TICKERS = 20;
export const CLEAN_DAYS = cleanDays(1, { tickers: TICKERS, days: 600 });

/** Half of the spread of prices that bounce; returns then have an autocorrelation of some -0.3. */
export const HALF_SPREAD = 0.012;

/** Weak in 600 dates: a window of 21 prices hides each of its returns. */
const SELDOM: ReadonlySet<string> = new Set<FaultName>(["centred average of 21 prices"]);

/** One test for each fault of one ticker. */
export function testFaultsIn(feature: string): void {
  for (const [name, fault] of Object.entries<BlobFault>(FAULTS)) {
    if (SELDOM.has(name)) continue;
    test(`${name}, in ${feature} of one ticker of 20, is found only by ${fault.check}`, () => {
      const place = { ticker: "S07", feature };
      const findings = [...found(fault, fault.plant(CLEAN_DAYS, place))];
      assert.deepEqual([...new Set(findings.map(({ code }) => code))].sort(), [...fault.codes].sort());
      assert.ok(findings.every((one) => isOf(fault, place, one)));
    });
  }
}

/** Foresight examines few tickers again: the others are the same as in the clean market, with as many tests. */
function found({ check }: BlobFault, { earlier, today }: TwoDays) {
  if (check === "restatement") return restatementOf({ earlier, today });
  const few = { prices: today.prices.slice(6, 9), features: today.features.slice(6, 9) };
  return foresightOf(few, TICKERS / 3).findings;
}
