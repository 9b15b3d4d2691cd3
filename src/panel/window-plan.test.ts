import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { asColumns, FAULTS, faultyQuotes } from "../../test/twins/market.ts";
import { slowWindows } from "../../test/twins/network-plan-twin.ts";
import { slowPanel, type TwinRow } from "../../test/twins/panel-twin.ts";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import { buildTickerPanel } from "./ticker-panel.ts";
import { constantTarget, planWindows, type WindowPlan, type WindowRows } from "./window-plan.ts";

const WINDOW = { start: parseDay("2019-01-01")!, end: parseDay("2029-12-31")! };

/** A panel whose rows are all fit rows except for the last `score`. */
function plainPanel(fit: number, score: number, label = (row: number) => row / 100): WindowRows {
  const rows = Int32Array.from({ length: fit + score }, (_, i) => i);
  return {
    ticker: "AAA",
    days: rows,
    labelDays: rows.map((day) => day + 1),
    y: Float64Array.from(rows, label),
    fit: rows.subarray(0, fit),
    score: rows.subarray(fit),
  };
}

test("the windows of histories with faults equal those of the slow twin", () => {
  let planned = 0;
  const property = fc.property(
    FAULTS,
    fc.integer({ min: 1, max: 30 }),
    fc.integer({ min: 50, max: 100 }),
    fc.boolean(),
    fc.constantFrom(0, 0, 1, 2, 5),
    (faults, lookback, percent, calibrates, delay) => {
      const quotes = faultyQuotes(faults);
      const dates = [...quotes.prices.keys()];
      const cut = dates[Math.floor((percent / 100) * (dates.length - 1))]!;
      const twin = slowPanel(quotes, "2019-01-01", "2029-12-31", cut, delay);
      if (twin.fit.length < 30) return;
      const window = { ...WINDOW, cut: parseDay(cut)!, delay };
      const panel = buildTickerPanel({ ticker: "AAA", ...asColumns("AAA", quotes), window });
      const slow = slowWindows({ ticker: "AAA", panel: twin }, lookback, calibrates);
      if (typeof slow === "string") {
        assert.throws(() => planWindows(panel, { lookback, calibrates }), { code: slow });
        return;
      }
      const plan = planWindows(panel, { lookback, calibrates });
      const texts = (rows: Int32Array) => Array.from(rows, (row) => formatDay(panel.days[row]!));
      for (const part of ["train", "validate", "calibrate", "score"] as const) {
        assert.deepEqual(
          texts(plan[part]),
          slow[part].map((row: TwinRow) => row.date),
        );
      }
      assertNoLeak(plan, panel.days, panel.labelDays, window.cut);
      planned++;
    },
  );
  fc.assert(property, { seed: 5, numRuns: 300 });
  assert.ok(planned > 50, `the histories must be good enough to plan: ${planned} were`);
});

/** Each part's labels are known when the next part begins, and all training labels by the cut. */
function assertNoLeak(plan: WindowPlan, days: Int32Array, labelDays: Int32Array, cut: number): void {
  const parts = [plan.train, plan.validate, plan.calibrate, plan.score].filter((rows) => rows.length > 0);
  for (const [i, rows] of parts.entries()) {
    const next = parts[i + 1];
    if (next === undefined) continue;
    assert.ok(rows.every((row) => labelDays[row]! <= days[next[0]!]!));
    assert.ok(rows.at(-1)! < next[0]!);
  }
  const learned = [...plan.train, ...plan.validate, ...plan.calibrate];
  assert.ok(learned.every((row) => labelDays[row]! <= cut));
}

test("equal training labels are constant, whatever comes after them", () => {
  const panel = plainPanel(100, 1, (row) => (row < 80 ? 0.01 : 0.02));
  assert.throws(() => planWindows(panel, { lookback: 1, calibrates: false }), { code: "constant_target" });
  const barely = plainPanel(100, 1, (row) => (row < 79 ? 0.01 : 0.02));
  assert.equal(planWindows(barely, { lookback: 1, calibrates: false }).train.length, 80);
});

test("the returns of a price that grows by the same rate every day are constant despite rounding", () => {
  const rows = Int32Array.from({ length: 499 }, (_, row) => row);
  const error = (y: Float64Array) => constantTarget({ ticker: "A", y }, rows)?.code;
  const returns = (rate: number) => {
    const prices = Array.from({ length: 500 }, (_, day) => 100 * (1 + rate) ** day);
    return Float64Array.from(prices.slice(1), (price, day) => Math.log(price / prices[day]!));
  };
  for (const rate of [0.01, -0.003, 0.0001]) {
    assert.ok(new Set(returns(rate)).size > 1);
    assert.equal(error(returns(rate)), "constant_target", `${rate}`);
  }
  assert.equal(error(returns(0.01).with(7, 0.01 + 1e-12)), undefined);
});
