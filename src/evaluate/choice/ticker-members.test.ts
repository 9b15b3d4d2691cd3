import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "../../contract/machine/pausable.ts";
import { lossSeries } from "./candidate-losses.ts";
import { testedTickers } from "./choice.testing.ts";
import { tickerMembers } from "./ticker-members.ts";

const ROWS = 200;
const END = 1_000;

test("a ticker without enough rows of the best candidate and another one has the common members", () => {
  const left = testedTickers(4, ROWS, [0, 0.4, 0]);
  const right = testedTickers(4, ROWS, [0, 0, 0.4], 2);
  const tickers = [...left, ...right].map((ticker, i) => ({ ...ticker, ticker: `T${i}` }));
  tickers[0]!.predicted[1]!.fill(Number.NaN);
  tickers[2] = { ...tickers[2]!, unit: 0 };
  for (const own of tickers[3]!.predicted.slice(1)) own.fill(Number.NaN, 29);
  const series = atOnce(lossSeries(tickers, 3, "squared_error"));
  const common = { best: 1, members: [0, 1] };
  const own = atOnce(tickerMembers(tickers, series, END, common, "mean"));
  for (const i of [0, 2, 3]) assert.deepEqual(own[i], common.members, `ticker ${i}`);
  assert.deepEqual(own[1], [1]);
  for (const i of [4, 5, 6, 7]) assert.deepEqual(own[i], [2], `ticker ${i}`);
});
