import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import fc from "fast-check";
import { parseDay } from "../../contract/market/dates.ts";
import type { TickerFeatures } from "../../contract/market/ticker-series.ts";
import { readFeatures } from "../../ingest/read-blob.ts";
import { readPrices } from "../../ingest/read-prices.ts";
import { cutFeaturesText, cutPricesText, planCuts } from "./cut-blobs.ts";

const READING = { workFolder: tmpdir() };
const day = (text: string) => parseDay(text)!;
const DAYS = Int32Array.from(["1969-12-31", "2020-02-28", "2020-02-29", "2020-03-02"], day);

function source(text: string) {
  return {
    name: "copy.json",
    chunks: (async function* () {
      yield Buffer.from(text);
    })(),
  };
}

/** Names that mean something elsewhere, and values at the edges of float64. */
const TICKERS: readonly TickerFeatures[] = [
  {
    ticker: "\u{1F600}",
    days: DAYS,
    columns: ["10", "2", "__proto__", 'a "b"'],
    // biome-ignore format: a column a line
    values: Float64Array.of(
      0.1, -0, Number.NaN, 4,
      5e-324, Number.MAX_VALUE, 2 ** 53 + 2, 8,
      Number.NaN, Number.NaN, Number.NaN, 12,
      1 / 3, -1e-300, 123456789.12345678, 16,
    ),
  },
  { ticker: "later", days: DAYS.subarray(3), columns: ["x"], values: Float64Array.of(1) },
  { ticker: "005930", days: DAYS.subarray(1, 2), columns: ["y", "x"], values: Float64Array.of(7, 8) },
];

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

test("a copy of features reads back to the bit up to its date, in order, without tickers that start later", async () => {
  const text = await textOf(cutFeaturesText(day("2020-03-01"), inTurn(TICKERS)));
  const read: TickerFeatures[] = [];
  for await (const ticker of readFeatures(source(text), READING)) read.push(ticker);
  assert.deepEqual(
    read.map(({ ticker }) => ticker),
    ["\u{1F600}", "005930"],
  );
  const [first, last] = [read[0]!, read[1]!];
  assert.deepEqual([first.columns, last.columns], [TICKERS[0]!.columns, ["y", "x"]]);
  assert.deepEqual([[...first.days], [...last.days]], [[...DAYS.subarray(0, 3)], [DAYS[1]]]);
  const kept = TICKERS[0]!.values.filter((_, i) => i % 4 < 3);
  assert.ok(
    first.values.every((value, i) => Object.is(value, kept[i])),
    String(first.values),
  );
  assert.deepEqual([...last.values], [7, 8]);
});

test("a copy of prices names the window and the cut, and keeps zeros and negative ones", async () => {
  const window = { start: DAYS[0]!, end: DAYS[2]!, learningEnd: DAYS[1]! };
  const prices = Float64Array.of(0, -3.5, Number.NaN, 9);
  const tickers = [
    { ticker: "B", days: DAYS, prices },
    { ticker: "A", days: DAYS.subarray(3), prices: Float64Array.of(1) },
  ];
  const text = await textOf(cutPricesText(window, DAYS[2]!, tickers));
  const blob = await readPrices(source(text), READING);
  assert.deepEqual([blob.window, blob.tickers], [window, ["B"]]);
  const { days, prices: read } = blob.load("B");
  assert.deepEqual([[...days], [...read]], [[...DAYS.subarray(0, 3)], [0, -3.5, Number.NaN]]);
});

const DATES = Int32Array.from({ length: 40 }, (_, i) => 100 + 2 * i);

test("cuts are spread over the dates after the blobs' own cut, except the last", () => {
  const plan = planCuts(DATES, 139, 3);
  assert.deepEqual(plan, { learningEnd: 139, isChosen: false, cutAfter: [148, 158, 168] });
});

test("without a cut, or with none before the last date, the audit chooses one that leaves a quarter to forecast", () => {
  const chosen = { learningEnd: DATES[29], isChosen: true };
  for (const learningEnd of [undefined, DATES.at(-1)!, DATES.at(-2)!, 1000]) {
    const plan = planCuts(DATES, learningEnd, 2)!;
    assert.deepEqual({ ...plan, cutAfter: undefined }, { ...chosen, cutAfter: undefined });
    assert.equal(plan.cutAfter.length, 2);
  }
  for (const n of [0, 1, 2]) assert.equal(planCuts(DATES.subarray(0, n), undefined, 5), undefined);
});

test("whatever the dates, the cuts ascend between the cut and the last date, and there are as many as fit", () => {
  const dates = fc.uniqueArray(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 60 });
  const day = fc.option(fc.integer({ min: 0, max: 500 }));
  fc.assert(
    fc.property(dates, day, fc.integer({ min: 1, max: 80 }), (days, cut, k) => {
      const sorted = Int32Array.from(days).sort();
      const plan = planCuts(sorted, cut ?? undefined, k);
      if (plan === undefined) return;
      const room = [...sorted.slice(0, -1)].filter((day) => day > plan.learningEnd);
      assert.equal(plan.cutAfter.length, Math.min(k, room.length));
      assert.deepEqual(
        plan.cutAfter,
        room.filter((day) => plan.cutAfter.includes(day)),
      );
    }),
  );
});
