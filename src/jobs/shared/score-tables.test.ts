import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { atOnce } from "../../contract/machine/pausable.ts";
import type { JobEvent } from "../../contract/output/job-events.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { FittedTicker } from "../ml/fitted-ticker.ts";
import { evaluateMl, mlEvaluationUnits } from "../ml/ml-output.ts";
import { evaluateInTurns, hasZeroFactor } from "./score-tables.ts";

const TICKERS = 12;
const ROWS = 40;

/** A clock on which each step of the work takes ten milliseconds on any machine, so that there are several turns. */
function slow(t: TestContext): void {
  let now = 0;
  t.mock.method(performance, "now", () => {
    now += 10;
    return now;
  });
}

function fitted(index: number): FittedTicker {
  const ticker = `T${index}`;
  const days = (from: number, count: number) => Int32Array.from({ length: count }, (_, i) => from + i);
  const values = (count: number, of: number) =>
    Float64Array.from({ length: count }, (_, i) => Math.sin(of * index + i * i));
  return {
    ticker,
    dates: { ticker, days: days(60, ROWS), lastPriceDay: 60 + ROWS, lastFeatureDay: 60 + ROWS },
    folds: [{ trainStart: 0, trainEnd: 40, testStart: 40, testEnd: 60 }],
    fit: { days: days(0, 60), labels: values(60, 2), labelDays: days(1, 60) },
    outOfFold: values(20, 3),
    outOfFoldSpans: [],
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

function done(events: readonly JobEvent[]): (number | undefined)[] {
  return events.map((event) => (event.kind === "progress" ? event.done : undefined));
}

test("progress grows to all units, and the tables equal those made at once", async (t) => {
  slow(t);
  const events: JobEvent[] = [];
  const total = mlEvaluationUnits(ALL, SETTINGS);
  const evaluation = await evaluateInTurns(evaluateMl(ALL, SETTINGS, 100), total, {
    signal: new AbortController().signal,
    report: (event) => events.push(event),
  });
  assert.deepEqual(evaluation, atOnce(evaluateMl(ALL, SETTINGS, 100)));
  const counts = done(events);
  assert.equal(counts.at(-1), total);
  assert.ok(counts.length > 1 && counts.every((count, i) => i === 0 || count! >= counts[i - 1]!));
  const units = [...evaluateMl(ALL, SETTINGS, 100)].reduce((sum, unit) => sum + unit, 0);
  assert.equal(units, total);
});

test("a job that is aborted while it evaluates its forecasts ends at once", async (t) => {
  slow(t);
  const controller = new AbortController();
  const reason = new Error("cancelled");
  const events: JobEvent[] = [];
  const evaluation = evaluateInTurns(evaluateMl(ALL, SETTINGS, 100), mlEvaluationUnits(ALL, SETTINGS), {
    signal: controller.signal,
    report: (event) => {
      events.push(event);
      controller.abort(reason);
    },
  });
  await assert.rejects(evaluation, reason);
  assert.equal(events.length, 1);
});

test("the order by close is that of the models' own forecasts, with pooled shrinkage too, from the delay of the labels on", () => {
  const { score, outOfFold } = atOnce(evaluateMl(ALL, SETTINGS, 100)).tables;
  assert.deepEqual(
    [score.by_delay!, outOfFold!.by_delay!].map((orders) => orders.map(({ delay }) => delay)),
    [
      [0, 1, 2],
      [0, 1, 2],
    ],
  );
  assert.ok(score.by_delay!.every(({ dates, ic_mean }) => dates > 30 && ic_mean !== null));
  const shrunk = atOnce(evaluateMl(ALL, { ...SETTINGS, shrinkage: "pooled", delay: 2 }, 100)).tables;
  assert.deepEqual(
    shrunk.score.by_delay,
    score.by_delay!.map((order) => ({ ...order, delay: order.delay + 2 })),
  );
});

test("a factor of 0 counts if a model of its ticker forecasts in that block", () => {
  const blocks = [
    {
      byTicker: new Map([
        ["A", 0.5],
        ["B", 0],
      ]),
    },
    {
      byTicker: new Map([
        ["A", 0.5],
        ["B", 0.5],
      ]),
    },
  ];
  const tickers = (...ofB: readonly number[]) => [
    { ticker: "A", models: [{ block: 0 }, { block: 1 }] },
    { ticker: "B", models: ofB.map((block) => ({ block })) },
  ];
  assert.deepEqual([hasZeroFactor(blocks, tickers(0, 1)), hasZeroFactor(blocks, tickers(1))], [true, false]);
});
