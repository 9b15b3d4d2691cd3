import assert from "node:assert/strict";
import { test } from "node:test";
import { mean } from "../../evaluate/statistics.ts";
import { evaluateForecasts } from "./evaluate-forecasts.ts";
import { foldedRows } from "./modelled-ticker.testing.ts";
import type { ModelledTicker } from "./modelled-ticker.ts";

const TICKERS = 12;
const ROWS = 40;

function fitted(index: number): ModelledTicker {
  const ticker = `T${index}`;
  const days = (from: number, count: number) => Int32Array.from({ length: count }, (_, i) => from + i);
  const values = (count: number, of: number) =>
    Float64Array.from({ length: count }, (_, i) => Math.sin(of * index + i * i));
  return {
    ticker,
    dates: { ticker, days: days(60, ROWS), lastPriceDay: 60 + ROWS, lastFeatureDay: 60 + ROWS },
    ...foldedRows({
      ...{ ticker, days: days(0, 60), labels: values(60, 2), labelDays: days(1, 60) },
      folds: [{ trainStart: 0, trainEnd: 40, testStart: 40, testEnd: 60 }],
      outOfFold: values(20, 3),
    }),
    score: {
      days: days(60, ROWS),
      labels: values(ROWS, 5),
      labelDays: days(61, ROWS),
      predicted: values(ROWS, 7),
      volatility: values(ROWS, 9),
      spans: [],
    },
    models: [{ block: 0, from: 0, to: ROWS, fitRows: 60, labelMean: mean(values(60, 2)), isStandIn: false }],
    rows: {
      fitRows: 60,
      features: 1,
      spans: Int32Array.of(0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0),
      latestSpan: 1,
      warmUp: { rows: 0, feature: undefined },
    },
    warnings: [],
    listed: [],
  };
}

const ALL = Array.from({ length: TICKERS }, (_, i) => fitted(i));
const INTERVALS = { method: "adaptive", alpha: 0.1, bound: "both" } as const;
const SETTINGS = { intervals: INTERVALS, shrinkage: "none" } as const;

test("the order by close is that of the models' own forecasts, with pooled shrinkage too, from the delay of the labels on", () => {
  const { score, outOfFold } = evaluateForecasts(ALL, "out_of_fold", SETTINGS, 100).tables;
  assert.deepEqual(
    [score.by_delay!, outOfFold!.by_delay!].map((orders) => orders.map(({ delay }) => delay)),
    [
      [0, 1, 2],
      [0, 1, 2],
    ],
  );
  assert.ok(score.by_delay!.every(({ dates, ic_mean }) => dates > 30 && ic_mean !== null));
  const shrunk = evaluateForecasts(
    ALL,
    "out_of_fold",
    { ...SETTINGS, shrinkage: "pooled", delay: 2 },
    100,
  ).tables;
  assert.deepEqual(
    shrunk.score.by_delay,
    score.by_delay!.map((order) => ({ ...order, delay: order.delay + 2 })),
  );
});
