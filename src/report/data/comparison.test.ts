import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { dlText, mlText } from "../../outputs/outputs.testing.ts";
import { reported } from "./reported.testing.ts";

const SKILLED = mlText({ skill: 0.1, config: { intervals: {} } });
const BLIND = dlText({ seed: 2, config: { intervals: {} } });

/** The mean over dates of the squared error of 0 less that of the forecasts, and the number of dates. */
function slowGain({ forecasts }: OutputBlob): [gain: number, dates: number] {
  const byDate = new Map<string, number[]>();
  for (const { dates, predicted, realised } of Object.values(forecasts)) {
    for (const [i, date] of dates.entries()) {
      const y = realised[i]!;
      if (y === null) continue;
      byDate.set(date, [...(byDate.get(date) ?? []), y ** 2 - (y - predicted[i]!) ** 2]);
    }
  }
  const gains = [...byDate.values()].map((all) => all.reduce((a, b) => a + b, 0) / all.length);
  return [gains.reduce((a, b) => a + b, 0) / gains.length, gains.length];
}

test("outputs are told apart where one is better, and a careful person takes that one", () => {
  const { comparison, outputs } = reported(BLIND, SKILLED);
  const { names, rows, dates, tests, choice, testsFinding } = comparison!;
  assert.deepEqual([names, rows, dates], [["lstm", "ridge"], 952, 119]);
  assert.deepEqual(
    tests.map(({ measure, first, second }) => [measure, first, second]),
    [
      ["squared error", "lstm", "zero forecast"],
      ["squared error", "ridge", "zero forecast"],
      ["squared error", "lstm", "ridge"],
      ["RankIC", "lstm", "ridge"],
    ],
  );
  const [gain, days] = slowGain(JSON.parse(SKILLED));
  assert.ok(Math.abs(tests[1]!.gain - gain) < 1e-15 && tests[1]!.dates === days);
  assert.ok(tests[2]!.t! < -2 && tests[3]!.t! < -2);
  assert.match(
    testsFinding,
    /^ridge was better than lstm by squared error .*; ridge was better than lstm by RankIC/,
  );
  assert.equal(choice.index, 1);
  assert.match(choice.sentence, /would take ridge, the only one with evidence of skill/);
  assert.deepEqual(
    outputs.map(({ verdict }) => verdict.state),
    ["worse", "skill"],
  );
});

test("fewer than 30 common dates tell no outputs apart", () => {
  const few = [mlText({ scoreRows: 4, skill: 0.4 }), dlText({ scoreRows: 4, seed: 2 })];
  const { tests, testsFinding } = reported(...few).comparison!;
  assert.ok(tests.every(({ t, p }) => t === null && p === null));
  assert.match(testsFinding, /^On 3 dates no test can tell the outputs apart: 30 are the least/);
});

test("a careful person takes none without skill, and none of two that are the same", () => {
  const none = reported(mlText(), BLIND).comparison!.choice;
  assert.deepEqual(
    [none.index, /takes none: .* no output shows evidence/.test(none.sentence)],
    [undefined, true],
  );
  const same = reported(SKILLED, SKILLED).comparison!;
  assert.deepEqual(same.names, ["ridge (1)", "ridge (2)"]);
  assert.equal(same.choice.index, undefined);
  assert.match(same.choice.sentence, /does not part ridge \(1\), ridge \(2\)/);
  assert.deepEqual(
    same.tests.slice(2).map(({ t, p }) => [t, p]),
    [
      [null, null],
      [null, null],
    ],
  );
  const open = reported(mlText({ isOpen: true }), dlText({ isOpen: true })).comparison!;
  assert.match(open.choice.sentence, /takes none yet/);
  assert.deepEqual([open.rows, open.tests.length], [0, 0]);
});

test("outputs of other prices are refused, with the row and both returns", () => {
  const other = mlText({ market: 2 });
  const realised = (text: string) => (JSON.parse(text) as OutputBlob).forecasts.AAA!.realised[0];
  assert.throws(() => reported(BLIND, other), {
    code: "invalid_data",
    message: new RegExp(
      `the return of AAA on 2015-07-31 is ${realised(BLIND)} in the one and ${realised(other)} in the other`,
    ),
  });
});

test("rows that one output lacks are left out of both, and counted", () => {
  const fewer = mlText({ skill: 0.1, tickers: ["AAA", "BBB", "CCC"] });
  const more = mlText({ skill: 0.1, tickers: ["AAA", "BBB", "CCC", "DDD"], scoreRows: 120 });
  const { comparison, outputs } = reported(fewer, more);
  assert.deepEqual([comparison!.rows, comparison!.tickers, comparison!.leftOut], [357, 3, [0, 119]]);
  assert.match(
    comparison!.rowsFinding,
    /357 rows .* of 3 tickers on 119 dates; of an output up to 119 rows are left out/,
  );
  assert.deepEqual(
    outputs.map(({ tickers }) => tickers.data!.rows.length),
    [3, 3],
  );
  assert.deepEqual(
    outputs.map(({ mu }) => mu.data!.bars.length),
    [3, 4],
    "mu are all there are",
  );
  const alone = reported(fewer).outputs[0]!;
  assert.deepEqual(outputs[0]!.verdict.tiles, alone.verdict.tiles);
});

test("coverage by volatility is told of the rows that the output has it for, and of no fewer", () => {
  const config = { intervals: {} };
  const whole = mlText({ config, scoreRows: 300 });
  const fewer = mlText({ config, scoreRows: 300, tickers: ["AAA", "BBB", "CCC"] });
  const told = (...texts: string[]) =>
    reported(...texts).outputs.map(({ intervals, verdict }) => [
      intervals.data!.volatility !== undefined,
      verdict.sentences.join(" ").includes("quietest tenth"),
    ]);
  assert.deepEqual(told(whole, whole), [
    [true, true],
    [true, true],
  ]);
  assert.deepEqual(told(whole, fewer)[0], [false, false]);
});

test("without a ticker in common nothing is compared", () => {
  const { comparison, outputs } = reported(
    mlText({ tickers: ["A", "B", "C"] }),
    mlText({ tickers: ["X", "Y", "Z"] }),
  );
  assert.deepEqual([comparison!.rows, comparison!.tests], [0, []]);
  assert.ok(outputs.every(({ skill }) => skill.absent !== undefined));
});
