import assert from "node:assert/strict";
import { test } from "node:test";
import { bouncing, cleanDays, movedOn, type TwoDays, withGaps } from "../bench/audit/clean-markets.ts";
import { foresightOf, restatementOf } from "../bench/audit/examined-market.ts";
import { type BlobFault, FAULTS, type FaultName, isOf } from "../bench/audit/planted-faults.ts";
import { SHARED_FAULTS, withSharedFault } from "../bench/audit/shared-faults.ts";
import { signalMarket } from "../bench/audit/signal-markets.ts";
import { meanAutocorrelation } from "../bench/audit/thin-markets.ts";

const TICKERS = 20;
const days = cleanDays(1, { tickers: TICKERS, days: 600 });

test("a clean market has no finding, and none in rewritten data", () => {
  const { findings, suspects } = foresightOf(days.today);
  assert.deepEqual(findings, []);
  assert.ok(suspects.tests > TICKERS * 26 * 60);
  assert.deepEqual(restatementOf(days), []);
});

test("dates without a price and a moved window leave a clean market clean", () => {
  const few = cleanDays(2, { tickers: 5, days: 400 });
  for (const kind of [withGaps(few, 1), movedOn(few)]) {
    assert.deepEqual([...foresightOf(kind.today).findings, ...restatementOf(kind)], []);
  }
});

/** Half of the spread; returns then have an autocorrelation of about -0.3. */
const HALF_SPREAD = 0.012;

test("prices that bounce between bid and ask leave a clean market clean, although each predicts the next return", () => {
  const thin = bouncing(cleanDays(3, { tickers: 5, days: 600 }), 3, HALF_SPREAD).today;
  assert.ok(meanAutocorrelation(thin) < -0.25);
  assert.deepEqual(foresightOf(thin).findings, []);
});

for (const name of ["feature dated a day early", "centred mean of 21 returns"] as const) {
  test(`finds only ${name} among prices that bounce`, () => {
    const place = { ticker: "S01", feature: "mom_5" };
    const thin = bouncing(cleanDays(3, { tickers: 3, days: 600 }), 3, HALF_SPREAD);
    const findings = foresightOf(FAULTS[name].plant(thin, place).today, TICKERS / 3).findings;
    assert.ok(findings.length > 0 && findings.every((one) => isOf(FAULTS[name], place, one)));
  });
}

/** Weak in 600 dates: a window of 21 prices hides each of its returns. */
const SELDOM: ReadonlySet<string> = new Set<FaultName>(["centred average of 21 prices"]);

for (const [name, fault] of Object.entries<BlobFault>(FAULTS)) {
  if (SELDOM.has(name)) continue;
  for (const feature of ["mom_5", "vol_21"]) {
    test(`only ${fault.check} finds ${name} in ${feature} of one ticker of 20`, () => {
      const place = { ticker: "S07", feature };
      const findings = [...found(fault, fault.plant(days, place))];
      assert.deepEqual([...new Set(findings.map(({ code }) => code))].sort(), [...fault.codes].sort());
      assert.ok(findings.every((one) => isOf(fault, place, one)));
    });
  }
}

/** Few tickers of foresight are computed again; the others come from the clean market, with as many tests. */
function found({ check }: BlobFault, { earlier, today }: TwoDays) {
  if (check === "restatement") return restatementOf({ earlier, today });
  const few = { prices: today.prices.slice(6, 9), features: today.features.slice(6, 9) };
  return foresightOf(few, TICKERS / 3).findings;
}

const six = cleanDays(4, { tickers: 6, days: 1_000 }).today;

for (const [name, { codes, spoil }] of Object.entries(SHARED_FAULTS)) {
  // Weak faults need more tickers or dates: the former follow below; docs/audit.md has both.
  if (name.startsWith("correlates") || name.startsWith("a quarter")) continue;
  test(`${name} in one feature of all six tickers is one finding without an earlier blob`, () => {
    const { findings } = foresightOf(withSharedFault(six, "rel_1", spoil));
    assert.equal(findings.length, 1, JSON.stringify(findings.map(({ message }) => message)));
    assert.equal(findings[0]!.feature, "rel_1");
    assert.ok((codes as readonly string[]).includes(findings[0]!.code), findings[0]!.code);
  });
}

test("finds one of 17 features of 87 tickers that correlates 0.15 with the next return, and not 0.05", () => {
  const told = (ic: number) =>
    foresightOf(signalMarket(1, { tickers: 87, days: 300 }, { ic, persistence: 0 })).findings.map(
      ({ code, feature }) => [code, feature],
    );
  assert.deepEqual(told(0.15), [["implausible_skill", "f0"]]);
  assert.deepEqual(told(0.05), []);
});
