import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { reported, reportedData } from "../reported.testing.ts";
import { isNear } from "../statistics/dated-rows.testing.ts";

const TEXT = mlText({ skill: 0.2, scoreRows: 300 });

/** The rows of each date with a label, the lowest forecast first. */
function byDate({ forecasts }: OutputBlob): { p: number; y: number }[][] {
  const dates = new Map<string, { p: number; y: number }[]>();
  for (const { dates: days, predicted, realised } of Object.values(forecasts)) {
    for (const [i, day] of days.entries()) {
      const y = realised[i]!;
      if (y !== null) dates.set(day, [...(dates.get(day) ?? []), { p: predicted[i]!, y }]);
    }
  }
  return [...dates.values()].map((rows) => rows.sort((a, b) => a.p - b.p));
}

const average = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

test("returns of quantiles are simple returns, and so is the spread", () => {
  const order = reportedData(TEXT).outputs[0]!.order.data!;
  // Thirds of eight tickers: three, two and three.
  const dates = byDate(JSON.parse(TEXT));
  const simple = (rows: readonly { y: number }[]) => average(rows.map(({ y }) => Math.exp(y) - 1));
  const top = dates.map((rows) => simple(rows.slice(5)));
  const bottom = dates.map((rows) => simple(rows.slice(0, 3)));
  assert.ok(isNear(order.quantiles[2]!.realised, average(top), 1e-12));
  assert.ok(isNear(order.quantiles[0]!.realised, average(bottom), 1e-12));
  assert.ok(isNear(order.spread.mean, average(top) - average(bottom), 1e-12));
});

test("the order is reported over 1 to 20 days, and quantiles by day", () => {
  const { outputs } = reportedData(TEXT);
  const { horizons, horizonsFinding, quantilesFinding } = outputs[0]!.order.data!;
  assert.deepEqual(
    horizons.map(({ horizon, dates }) => [horizon, dates]),
    [1, 2, 5, 10, 20].map((days) => [days, 300 - days]),
  );
  assert.ok(isNear(horizons[0]!.ic, outputs[0]!.verdict.tiles[0]!.value!));
  assert.match(horizonsFinding, /^The mean IC was \+0\.\d{3} over 1 day, .* over 20 days; the 95/);
  assert.match(quantilesFinding, /a day/);
});

test("few dates have figures by horizon, and no bands", () => {
  const { horizons, horizonsFinding } = reportedData(mlText({ scoreRows: 15 })).outputs[0]!.order.data!;
  assert.deepEqual(
    horizons.map(({ horizon, band }) => [horizon, band]),
    [1, 2, 5, 10].map((days) => [days, null]),
  );
  assert.match(horizonsFinding, /too few dates for a band\.$/);
});

test("the panel of exposures names the largest one, and the IC beyond all of them", () => {
  const output: OutputBlob = JSON.parse(TEXT);
  const exposure = (name: "beta_252" | "return_21", correlation: number) => ({
    ...{ name, dates: 299 },
    ...{ correlation_mean: correlation, correlation_t: 5 },
  });
  const exposures = {
    dates: 290,
    ic_mean: 0.02,
    ic_t: 3,
    residual: { ic_mean: 0.011, ic_t: 1.2 },
    by_exposure: [exposure("beta_252", 0.1), exposure("return_21", -0.4)],
  };
  const score = { ...output.metrics.score, exposures };
  const html = page(reported(JSON.stringify({ ...output, metrics: { ...output.metrics, score } })));
  assert.match(
    html,
    /in common with the return of the last 21 dates: a correlation of \u22120\.400\. The mean IC is \+0\.020, and \+0\.011 \(90\u202f% band \u22120\.006 to \+0\.028\) beyond beta/,
  );
});
