import assert from "node:assert/strict";
import { test } from "node:test";
import { labelOf } from "../forms/labels.ts";
import { PREPARE_FIELDS, preparedSentences, prepareOptions } from "./prepare-form.ts";

test("options are the values of the non-empty fields, and tickers are comma-separated", () => {
  const said = new Map([
    ["id", " a-1 "],
    ["start", ""],
    ["learning_end", "2020-12-31"],
    ["tickers", "AAPL, BRK B,,"],
  ]);
  assert.deepEqual(JSON.parse(JSON.stringify(prepareOptions(said))), {
    id: "a-1",
    learning_end: "2020-12-31",
    tickers: ["AAPL", "BRK B"],
  });
  assert.equal(prepareOptions(new Map([["tickers", " , "]])).tickers, undefined);
  for (const { name } of PREPARE_FIELDS) assert.ok(labelOf(name), name);
});

test("the result of a CSV is reported in sentences, with its counts", () => {
  const prepared = {
    id: "x",
    feature_url: "f",
    data_extractor_url: "d",
    tickers: ["A"],
    ticker_count: 1,
    dates: 1_510,
    start: "2020-01-02",
    end: "2026-01-05",
    features: ["mom_1", "weekday"],
    warnings: [],
    warning_count: 0,
  };
  assert.deepEqual(preparedSentences({ ...prepared, learning_end: "2024-12-31", written: true }), [
    "1 ticker, 1,510 dates from 2020-01-02 to 2026-01-05, 2 features each.",
    "A job learns from returns up to 2024-12-31.",
    "Both blobs are stored.",
  ]);
  assert.deepEqual(preparedSentences({ ...prepared, learning_end: null, written: false }).slice(1), [
    "Without a training cut-off, a job learns from all dates.",
    "Both blobs were already stored, with the same bytes.",
  ]);
});
