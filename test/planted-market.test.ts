import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  type PlantedMarket,
  plantedMarket,
  SIGNALS,
  type SignalName,
  writePlantedBlobs,
} from "../bench/planted/planted-signals.ts";
import { correlation } from "../src/evaluate/statistics.ts";

const NAMES = Object.keys(SIGNALS) as SignalName[];
/** Correlations of samples of this length scatter by at most about 0.007. */
const LONG = 20_000;

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

for (const [name, ic] of [
  ["linear", 0.566],
  ["memory", 0.577],
  ["cross", 0.577],
] as const) {
  test(`the best forecast of ${name} has an IC of ${ic}`, () => {
    const { returns, bestForecasts } = plantedMarket(name, 5, { days: LONG });
    const ics = returns.map((values, t) => correlation(values, bestForecasts[t]!)!);
    assert.ok(Math.abs(mean(ics) - ic) < 0.01, String(mean(ics)));
    assert.equal(Math.round(SIGNALS[name].bestIc * 1_000) / 1_000, ic);
  });
}

/** Correlation of the first ticker's returns with one of its own features `lag` days earlier. */
function ownIc({ returns, features }: PlantedMarket, feature: number, lag: number): number {
  const [own, drawn] = [returns[0]!, features[0]![feature]!];
  return correlation(own.subarray(lag), drawn.subarray(0, LONG - lag))!;
}

test("memory shows in the feature of four rows ago and in none of the same day", () => {
  const market = plantedMarket("memory", 6, { days: LONG });
  assert.ok(ownIc(market, 0, 4) > 0.55);
  for (const lag of [0, 3, 5]) assert.ok(Math.abs(ownIc(market, 0, lag)) < 0.03);
});

test("a ticker's own features show at most an eighth of the variance of the signal cross", () => {
  const market = plantedMarket("cross", 6, { days: LONG });
  assert.ok(Math.abs(ownIc(market, 0, 0) - 0.577 / Math.sqrt(8)) < 0.03);
  for (const feature of [1, 2, 3, 4, 5]) assert.ok(Math.abs(ownIc(market, feature, 0)) < 0.03);
});

test("null has nothing to forecast, in any feature or at any lag", () => {
  const market = plantedMarket("null", 6, { days: LONG });
  for (const feature of [0, 1, 2, 3, 4, 5])
    for (const lag of [0, 1, 4]) assert.ok(Math.abs(ownIc(market, feature, lag)) < 0.03);
});

test("a seed always makes the same market, and another seed another one", () => {
  for (const name of NAMES) {
    assert.deepEqual(plantedMarket(name, 3), plantedMarket(name, 3));
    assert.notDeepEqual(plantedMarket(name, 3).returns, plantedMarket(name, 4).returns);
  }
});

test("a market of fewer tickers is the first part of the whole one", () => {
  const [whole, part] = [plantedMarket("cross", 3), plantedMarket("cross", 3, { tickers: 2 })];
  assert.deepEqual(part.returns, whole.returns.slice(0, 2));
  assert.deepEqual(part.features, whole.features.slice(0, 2));
  assert.deepEqual(part.tickers, whole.tickers.slice(0, 2));
});

test("the blobs contain the planted returns as labels, 300 of them after the end of learning", () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-planted-"));
  try {
    const market = plantedMarket("linear", 1);
    const paths = writePlantedBlobs([market], folder);
    const { dates, prices, Learning_end } = JSON.parse(readFileSync(paths.dataExtractorPath, "utf8"));
    const { features } = JSON.parse(readFileSync(paths.featurePath, "utf8"));
    assert.equal(dates.length, 1_500);
    assert.deepEqual(Object.keys(prices), Object.keys(features));
    assert.equal(Object.keys(prices).length, 8);
    assert.deepEqual(features.linear_1.f2, [...market.features[1]![1]!]);
    const labels = prices.linear_1
      .slice(1)
      .map((price: number, i: number) => Math.log(price / prices.linear_1[i]));
    assert.ok(labels.every((label: number, i: number) => Math.abs(label - market.returns[1]![i]!) < 1e-12));
    assert.equal(dates.length - 1 - dates.indexOf(Learning_end), 300);
    assert.ok(dates.every((date: string) => new Date(date).getUTCDay() % 6 !== 0));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
