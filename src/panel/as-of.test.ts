import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDay } from "../contract/market/dates.ts";
import type { TickerPrices } from "../contract/market/ticker-series.ts";
import { asOf, muRow, noForecast, type PanelDates } from "./as-of.ts";

const WINDOW = { start: 100, end: 200, cut: 200 };

function prices(ticker: string, days: readonly number[], values = days.map(() => 1)): TickerPrices {
  return { ticker, days: Int32Array.from(days), prices: Float64Array.from(values) };
}

function panel(lastRow: number, lastPriceDay: number, lastFeatureDay: number | undefined): PanelDates {
  return { ticker: "AAA", days: Int32Array.of(110, 120, lastRow), lastPriceDay, lastFeatureDay };
}

test("as_of is the last price date of any ticker inside the window", () => {
  const tickers = [prices("A", [100, 150]), prices("B", [50, 180, 201]), prices("C", [190], [0])];
  assert.equal(asOf(tickers, WINDOW), 180);
  assert.equal(asOf(tickers.toReversed(), WINDOW), 180);
});

test("a last price ten calendar days before as_of still has a mu, one of eleven does not", () => {
  assert.deepEqual(muRow(panel(170, 170, 180), 180), { row: 2 });
  const { warning } = muRow(panel(169, 169, 180), 180);
  assert.equal(warning?.code, "stale_ticker");
  assert.equal(warning?.ticker, "AAA");
  assert.match(warning.message, /its prices end on 1970-06-19, more than 10 days before/);
});

test("a last row before the last price date has no mu, whatever the cause", () => {
  const early = muRow(panel(150, 180, 160), 180).warning!;
  assert.match(early.message, /last row is 1970-05-31; its features end on 1970-06-10/);
  const missing = muRow(panel(150, 180, 180), 180).warning!;
  assert.match(missing.message, /no complete feature row on its last price date 1970-06-30/);
  const thin = muRow({ ...panel(150, 180, 180), lastRowDay: 180 }, 180).warning!;
  assert.match(thin.message, /on its last price date 1970-06-30 fewer than 5 tickers have its features/);
  const gap = muRow({ ...panel(150, 180, 180), lastRowDay: 175 }, 180).warning!;
  assert.match(gap.message, /no complete feature row on its last price date/);
  const both = muRow(panel(150, 169, 160), 180).warning!;
  assert.match(both.message, /its prices end on .*; its features end on/);
});

test("without any mu, the error names the blob that ends early", () => {
  const features = noForecast([panel(150, 180, 160), panel(150, 180, 170)], 180);
  assert.equal(features.code, "no_forecast");
  assert.deepEqual(features.data.ends_early, ["feature_url"]);
  assert.match(features.message, /the feature blob ends early for 2 of 2 tickers/);
  assert.equal(features.data.last_feature_date, formatDay(170));

  const extractor = noForecast([panel(150, 150, 180)], 180);
  assert.deepEqual(extractor.data.ends_early, ["data_extractor_url"]);

  const both = noForecast([panel(150, 150, 180), panel(150, 180, 160)], 180);
  assert.deepEqual(both.data.ends_early, ["feature_url", "data_extractor_url"]);

  const neither = noForecast([panel(150, 180, 180)], 180);
  assert.deepEqual(neither.data.ends_early, []);
  assert.match(neither.message, /no ticker has a complete feature row on its last price date/);
  assert.doesNotMatch(neither.message, /cross_section/);
  const thin = noForecast([{ ...panel(150, 180, 180), lastRowDay: 180 }], 180);
  assert.match(thin.message, /or fewer than 5 tickers do, which cross_section needs/);
});
