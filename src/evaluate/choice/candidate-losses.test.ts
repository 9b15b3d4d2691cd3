import assert from "node:assert/strict";
import { test } from "node:test";
import { average, slowCorrelation } from "../statistics.testing.ts";
import { lossSeries, meanIc, type TestedTicker } from "./candidate-losses.ts";
import { testedTickers } from "./choice.testing.ts";

/** The mean excess of a candidate on a label date, row by row. */
function plainExcess(tickers: readonly TestedTicker[], c: number, reference: number, day: number): number {
  const terms: number[] = [];
  for (const { labelDays, realised, predicted, unit } of tickers) {
    for (const [i, label] of labelDays.entries()) {
      const [y, p, r] = [realised[i]!, predicted[c]![i]!, predicted[reference]![i]!];
      if (label === day && !Number.isNaN(p) && !Number.isNaN(r))
        terms.push(((y - p) ** 2 - (y - r) ** 2) / unit);
    }
  }
  return terms.reduce((sum, term) => sum + term, 0) / terms.length;
}

test("the excess of a candidate is the mean over the tickers of a label date, row by row", () => {
  const tickers = testedTickers(4, 20, [0.1, 0.5, -0.2]);
  tickers[1]!.predicted[2]!.fill(Number.NaN);
  tickers[2]!.predicted[0]!.fill(Number.NaN, 0, 10);
  const { days, reference, excess } = lossSeries(tickers, 3, "squared_error");
  assert.equal(reference, 1, "candidate 1 has the most rows");
  assert.deepEqual(
    [...days],
    Array.from({ length: 23 }, (_, i) => 101 + i),
  );
  for (const [c, series] of excess.entries()) {
    for (const [d, value] of series.entries()) {
      const expected = plainExcess(tickers, c, 1, days[d]!);
      assert.ok(
        Number.isNaN(expected) ? Number.isNaN(value) : Math.abs(value - expected) < 1e-12,
        `${c} ${d}`,
      );
    }
  }
});

/** 0 for constant forecasts. */
function plainIc(pairs: readonly (readonly [y: number, p: number])[]): number {
  if (pairs.length < 5) return Number.NaN;
  const [y, p] = [pairs.map(([own]) => own), pairs.map(([, own]) => own)];
  return slowCorrelation(y, p) || 0;
}

/** Realised returns and two forecasts of the tickers with this label date that have both, row by row. */
function rowsOn(tickers: readonly TestedTicker[], c: number, reference: number, day: number) {
  return tickers.flatMap(({ labelDays, realised, predicted }) =>
    [...labelDays.keys()]
      .filter((i) => labelDays[i] === day)
      .map((i) => [realised[i]!, predicted[c]![i]!, predicted[reference]![i]!] as const)
      .filter(([, p, r]) => !Number.isNaN(p) && !Number.isNaN(r)),
  );
}

function close(actual: number, expected: number, message: string): void {
  assert.ok(Number.isNaN(expected) ? Number.isNaN(actual) : Math.abs(actual - expected) < 1e-12, message);
}

/** Tickers with gaps, a candidate without order, and dates with fewer than five tickers at both ends. */
function market(): TestedTicker[] {
  const tickers = testedTickers(8, 40, [0.3, 0.1, 0]);
  for (const { predicted } of tickers) predicted[2]!.fill(0.5);
  tickers[1]!.predicted[1]!.fill(Number.NaN, 0, 15);
  tickers[3]!.predicted[0]!.fill(Number.NaN, 20);
  return tickers;
}

test("the excess by IC is the reference's IC less the candidate's, date by date", () => {
  const tickers = market();
  const { days, reference, excess } = lossSeries(tickers, 3, "ic", 0);
  assert.equal(reference, 0);
  let dates = 0;
  for (const [c, series] of excess.entries()) {
    for (const [d, day] of days.entries()) {
      const rows = rowsOn(tickers, c, 0, day);
      const expected = plainIc(rows.map(([y, , r]) => [y, r])) - plainIc(rows.map(([y, p]) => [y, p]));
      close(series[d]!, expected, `${c} ${day}`);
      if (!Number.isNaN(expected)) dates++;
    }
  }
  assert.ok(dates > 100 && excess.every((series) => series.some(Number.isNaN)));
});

test("the mean IC of a candidate counts dates with five of its forecasts", () => {
  const tickers = market();
  const { days } = lossSeries(tickers, 3, "ic", 0);
  const all = Array.from(days, (day) => plainIc(rowsOn(tickers, 1, 1, day).map(([y, p]) => [y, p])));
  close(meanIc(tickers, 1)!, average(all.filter((ic) => !Number.isNaN(ic))), "candidate 1");
  assert.equal(meanIc(tickers, 2), 0);
  assert.equal(meanIc(tickers.slice(0, 4), 1), null);
});
