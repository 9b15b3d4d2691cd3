import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { asColumns, FAULTS, faultyQuotes } from "../../test/twins/market.ts";
import { slowPanel } from "../../test/twins/panel-twin.ts";
import { parseDay } from "../contract/market/dates.ts";
import { uniteFeatures } from "./feature-union.ts";
import { jointSamples, ownSamples, planJoint } from "./joint-plan.ts";
import { buildTickerPanel } from "./ticker-panel.ts";

const NAMES = ["B", "10", "A", "9"];

/** Tickers with various faults, some listed late; tickers with too few fit rows are already removed. */
const MARKET = fc
  .record({
    faults: fc.array(FAULTS, { minLength: NAMES.length, maxLength: NAMES.length }),
    lookback: fc.integer({ min: 1, max: 12 }),
    percent: fc.integer({ min: 60, max: 100 }),
    calibrates: fc.boolean(),
    delay: fc.constantFrom(0, 0, 1, 2, 5),
  })
  .map(({ faults, lookback, percent, calibrates, delay }) => {
    const quotes = faults.map((fault) => faultyQuotes({ ...fault, dates: 60 + fault.dates }));
    const dates = [...quotes[0]!.prices.keys()];
    const cut = dates[Math.floor((percent / 100) * (dates.length - 1))]!;
    const window = {
      start: parseDay("2019-01-01")!,
      end: parseDay("2029-12-31")!,
      cut: parseDay(cut)!,
      delay,
    };
    const panels = NAMES.flatMap((ticker, i) => {
      const { fit } = slowPanel(quotes[i]!, "2019-01-01", "2029-12-31", cut, delay);
      if (fit.length < 30) return [];
      return [buildTickerPanel({ ticker, ...asColumns(ticker, quotes[i]!), window })];
    });
    return { panels, window, options: { lookback, calibrates, delay } };
  });

test("no label is used for training, validation or calibration before it is known", () => {
  let late = 0;
  const property = fc.property(MARKET, ({ panels, window, options }) => {
    const { dates, members } = planJoint(panels, options);
    for (const { panel, train, validate, calibrate } of members) {
      const knownBy = (rows: Int32Array, day: number | undefined) =>
        assert.ok(rows.every((row) => panel.labelDays[row]! <= (day ?? window.cut)));
      knownBy(train, dates.validate[0]);
      knownBy(validate, dates.calibrate[0]);
      knownBy(calibrate, window.cut);
      late += panel.fit.filter(
        (row) => panel.days[row]! < dates.validate[0]! && panel.labelDays[row]! > dates.validate[0]!,
      ).length;
    }
  });
  fc.assert(property, { seed: 8, numRuns: 60 });
  assert.ok(late > 5, `labels that come out late must occur: ${late} did`);
});

test("a ticker's own forecasts are at the positions of its validation, calibration and score rows", () => {
  const property = fc.property(MARKET, ({ panels, options }) => {
    const plan = planJoint(panels, options);
    const { ends, parts } = jointSamples(plan, options.lookback);
    for (const [j, member] of plan.members.entries()) {
      const predictedRow = (sample: number) => ends[(parts.train + sample) * plan.members.length + j];
      const own = ownSamples(plan, member);
      assert.deepEqual(Array.from(own.validate, predictedRow), Array.from(member.validate));
      assert.deepEqual(Array.from(own.calibrate, predictedRow), Array.from(member.calibrate));
      assert.deepEqual(Array.from(own.score, predictedRow), Array.from(member.score));
    }
  });
  fc.assert(property, { seed: 10, numRuns: 50 });
});

test("unites features in the order of first appearance, and warns of the features that a ticker lacks", () => {
  const union = uniteFeatures([
    { ticker: "b", columns: ["x", "mom"] },
    { ticker: "B", columns: ["mom", "10"] },
  ]);
  assert.deepEqual(union.names, ["mom", "10", "x"]);
  assert.deepEqual(union.columns, [
    [2, 0],
    [0, 1],
  ]);
  assert.deepEqual(
    union.warnings.map(({ ticker, count }) => [ticker, count]),
    [
      ["B", 1],
      ["b", 1],
    ],
  );
  assert.match(union.warnings[0]!.message, /^B lacks features that other tickers have \(.*\): x\.$/);
  assert.deepEqual(uniteFeatures([{ ticker: "b", columns: ["x"] }]).warnings, []);
});
