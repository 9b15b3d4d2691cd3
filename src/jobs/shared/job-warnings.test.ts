import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import type { Shrinkage } from "../../contract/output/metrics-schemas.ts";
import type { Verdict, VerdictState } from "../../contract/output/verdict.ts";
import { walkForwardFolds } from "../../panel/folds.ts";
import {
  chosenEarly,
  type Listed,
  listedOfRows,
  listedWarnings,
  olderForecast,
  verdictWarnings,
} from "./job-warnings.ts";
import type { RowFacts } from "./modelled-ticker.ts";

const NONE = { rows: 0, feature: undefined };

/** A ticker with this many fit rows. Each next price is `span` days after its row, and the last ones before mu `latestSpan` days. */
function facts(fitRows: number, features: number, span = 1, latestSpan = span): RowFacts {
  const spans = new Int32Array(11);
  spans[span] = fitRows;
  return { fitRows, features, spans, latestSpan, warmUp: NONE };
}

const codes = (listed: readonly Listed[]) => listed.map(({ code }) => code);

test("lists a mu from before as_of with its date, but no mu of as_of and no missing mu", () => {
  const dates = (ticker: string, last: number) => ({
    ticker,
    days: Int32Array.of(1, last),
    lastPriceDay: last,
    lastFeatureDay: last,
  });
  const listed = [dates("A", 18), dates("B", 20), dates("C", 9), dates("D", 10)].flatMap((ticker) =>
    olderForecast(ticker, 20),
  );
  assert.deepEqual(listedWarnings(listed), [
    {
      code: "older_forecast",
      count: 2,
      message: "The mu of 2 tickers is older than as_of: A (1970-01-19), D (1970-01-11).",
    },
  ]);
});

test("labels that are daily in the fit rows but not before mu, or the other way round, are not daily", () => {
  const listed = [
    ["A", facts(100, 3, 1, 7)],
    ["B", facts(100, 3, 7, 1)],
    ["C", facts(100, 3, 1, 11)],
    ["D", facts(100, 3, 7, 8)],
    ["E", facts(100, 3, 1, 1)],
  ] as const;
  const [warning] = listedWarnings(listed.flatMap(([ticker, rows]) => listedOfRows(ticker, rows)));
  assert.equal(warning!.count, 4);
  assert.match(
    warning!.message,
    /: A \(1 to learn from, 7 before mu\), B \(7 to learn from, 1 before mu\), C \(1 to learn from, more than 10 before mu\), D \(7\)\.$/,
  );
});

test("lists few rows for the features with both numbers, even if only folds have them", () => {
  assert.deepEqual(codes(listedOfRows("A", facts(130, 26))), []);
  const [few] = listedWarnings(listedOfRows("A", facts(38, 26)));
  assert.match(few!.message, /: A \(38 fit rows, 26 features\)\.$/);
  const days = Int32Array.from({ length: 60 }, (_, day) => day);
  const folds = walkForwardFolds(
    { days, labelDays: days.map((day) => day + 1) },
    { cv_test_size: 5, n_splits: 6, delay: 0 },
  );
  assert.deepEqual(codes(listedOfRows("A", facts(60, 8), folds)), ["few_rows"]);
});

test("lists an ensemble if any member chose its first epoch, with the number of such members", () => {
  const members = (...epochs: number[]) => epochs.map((best_epoch) => ({ best_epoch }));
  const training = new Map([
    ["AAA", { best_epoch: 3, members: members(1, 1) }],
    ["BBB", { best_epoch: 2, members: members(2, 4) }],
    ["CCC", { best_epoch: 1, members: members(2, 3, 4) }],
  ]);
  const [warning] = listedWarnings(chosenEarly(training));
  assert.match(warning!.message, /for 2 networks: AAA \(2 of 3 members\), CCC \(1 of 4 members\)\.$/);
});

test("a code is one warning with a bounded message, whatever the number of tickers", () => {
  const listed = Array.from({ length: 5_000 }, (_, i): Listed => ({ code: "few_rows", ticker: `T${i}` }));
  const [warning, ...others] = listedWarnings([{ code: "wild_forecast", ticker: "T0" }, ...listed]);
  assert.deepEqual([warning!.code, others[0]!.code, others.length], ["few_rows", "wild_forecast", 1]);
  assert.deepEqual([warning!.count, warning!.ticker], [5_000, undefined]);
  assert.match(warning!.message, /T19 and 4980 more\.$/);
});

/** The warning of a verdict in that state on those rows, if held-out rows give `pooled` that factor. */
function warned(
  state: VerdictState,
  { rows = "score" as Verdict["rows"], choice = "none" as ShrinkageChoice, factor = 0.256 } = {},
) {
  const by_date: Shrinkage = { n: 100, b: factor, se: 0.1, s: factor };
  const verdict: Verdict = { state, rows, title: "T", sentence: "T on the rows.", judged: [] };
  const shrinkage = { pooled: by_date, by_date, by_ticker: new Map() };
  return verdictWarnings({ verdict, shrinkage }, choice);
}

test("warns nothing of skill, and no_skill with the verdict's sentence of none, worse and too few dates", () => {
  assert.deepEqual(warned("skill"), []);
  for (const state of ["none", "worse", "too_few"] as const) {
    assert.deepEqual(warned(state), [{ code: "no_skill", message: "T on the rows." }]);
  }
});

test("names the factor and the setting that correct sizes that are too large", () => {
  const [warning] = warned("oversized");
  assert.equal(warning!.code, "oversized");
  assert.equal(
    warning!.message,
    "T on the rows. Set shrinkage to pooled: it multiplies every forecast by 0.26 and keeps their order.",
  );
});

test("advises to rank if the factor would remove every forecast or change none", () => {
  assert.match(
    warned("oversized", { factor: 0 })[0]!.message,
    /Rank by mu: .* would set every forecast to 0\.$/,
  );
  assert.match(warned("oversized", { factor: 1 })[0]!.message, /Rank by mu: .* would change nothing\.$/);
  assert.match(warned("oversized", { factor: 0.998 })[0]!.message, /multiplies every forecast by 0\.99 and/);
});

test("with shrinkage, held-out forecasts differ from published ones, and score rows show the remaining error", () => {
  assert.deepEqual(warned("oversized", { choice: "pooled", rows: "out_of_fold" }), []);
  const [score] = warned("oversized", { choice: "own" });
  assert.match(score!.message, /They are too large although shrinkage is own\.$/);
});
