/** More faults than planted-faults.test.ts: in another feature, among prices that bounce, and in a feature of all tickers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bouncing, cleanDays } from "../bench/audit/clean-markets.ts";
import { foresightOf } from "../bench/audit/examined-market.ts";
import { FAULTS, isOf } from "../bench/audit/planted-faults.ts";
import { SHARED_FAULTS, withSharedFault } from "../bench/audit/shared-faults.ts";
import { signalMarket } from "../bench/audit/signal-markets.ts";
import { HALF_SPREAD, TICKERS, testFaultsIn } from "./planted-faults.testing.ts";

testFaultsIn("vol_21");

for (const name of ["feature dated a day early", "centred mean of 21 returns"] as const) {
  test(`${name} is found among prices that bounce, and nothing else is`, () => {
    const place = { ticker: "S01", feature: "mom_5" };
    const thin = bouncing(cleanDays(3, { tickers: 3, days: 600 }), 3, HALF_SPREAD);
    const findings = foresightOf(FAULTS[name].plant(thin, place).today, TICKERS / 3).findings;
    assert.ok(findings.length > 0 && findings.every((one) => isOf(FAULTS[name], place, one)));
  });
}

const six = cleanDays(4, { tickers: 6, days: 1_000 }).today;

for (const [name, { codes, spoil }] of Object.entries(SHARED_FAULTS)) {
  // Weak ones need more tickers or dates: the former is below, both are in docs/audit.md.
  if (name.startsWith("correlates") || name.startsWith("a quarter")) continue;
  test(`${name}, in one feature of all six tickers, is one finding without an earlier blob`, () => {
    const { findings } = foresightOf(withSharedFault(six, "rel_1", spoil));
    assert.equal(findings.length, 1, JSON.stringify(findings.map(({ message }) => message)));
    assert.equal(findings[0]!.feature, "rel_1");
    assert.ok((codes as readonly string[]).includes(findings[0]!.code), findings[0]!.code);
  });
}

test("one of 17 features of 87 tickers that correlates 0.15 with the next return is found, and 0.05 is not", () => {
  const told = (ic: number) =>
    foresightOf(signalMarket(1, { tickers: 87, days: 300 }, { ic, persistence: 0 })).findings.map(
      ({ code, feature }) => [code, feature],
    );
  assert.deepEqual(told(0.15), [["implausible_skill", "f0"]]);
  assert.deepEqual(told(0.05), []);
});
