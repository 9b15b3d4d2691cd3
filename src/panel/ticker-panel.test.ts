import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { asColumns, FAULTS, faultyQuotes, type Quotes } from "../../test/twins/market.ts";
import { slowPanel } from "../../test/twins/panel-twin.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { buildTickerPanel, MIN_FIT_ROWS, type TickerPanel } from "./ticker-panel.ts";

function build(quotes: Quotes, start: string, end: string, cut: string, delay = 0): TickerPanel {
  const window = { start: parseDay(start)!, end: parseDay(end)!, cut: parseDay(cut)!, delay };
  return buildTickerPanel({ ticker: "AAA", ...asColumns("AAA", quotes), window });
}

/** A panel in the twin's format: one object per row. */
function spelled(panel: TickerPanel, rows: Iterable<number>) {
  const k = panel.columns.length;
  return Array.from(rows, (i) => ({
    date: formatDay(panel.days[i]!),
    features: [...panel.x.subarray(i * k, (i + 1) * k)],
    label: Number.isNaN(panel.y[i]) ? null : panel.y[i]!,
    labelDate: panel.labelDays[i] === NO_LABEL_DAY ? null : formatDay(panel.labelDays[i]!),
  }));
}

function countOf(warnings: readonly Warning[], code: Warning["code"]): number {
  return warnings.find((warning) => warning.code === code)?.count ?? 0;
}

/** A date of the history, by its relative position. */
function dateAt(quotes: Quotes, share: number): string {
  const dates = [...quotes.prices.keys(), ...quotes.features.keys()].sort();
  return dates[Math.floor(share * (dates.length - 1))]!;
}

const SHARE = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);

/** How many rows each feature waits for its window. */
const WINDOWS = fc.array(fc.constantFrom(0, 0, 1, 3, 20), { minLength: 4, maxLength: 4 });

function withWindows(quotes: Quotes, windows: readonly number[]): Quotes {
  const rows = [...quotes.features];
  const features = rows.map(
    ([date, values], row) =>
      [date, values.map((value, c) => (row < windows[c]! ? Number.NaN : value))] as const,
  );
  return { ...quotes, features: new Map(features) };
}

test("rows, labels, fit and score agree with the slow twin on faulty histories", () => {
  let fitted = 0;
  let refused = 0;
  let both = 0;
  const delays = fc.constantFrom(0, 0, 1, 2, 3, 4, 5);
  const histories = fc.tuple(FAULTS, WINDOWS, SHARE, SHARE, delays);
  const property = fc.property(histories, ([faults, windows, startShare, cutShare, delay]) => {
    const quotes = withWindows(faultyQuotes(faults), windows);
    const start = dateAt(quotes, 0.3 * startShare);
    const end = dateAt(quotes, 0.97);
    const cut = dateAt(quotes, 0.3 * startShare + (0.97 - 0.3 * startShare) * Math.sqrt(cutShare));
    const expected = slowPanel(quotes, start, end, cut, delay);
    if (expected.fit.length < 30 || expected.columns.length === 0) {
      refused++;
      assert.throws(() => build(quotes, start, end, cut, delay), { code: "insufficient_history" });
      return;
    }
    fitted++;
    const panel = build(quotes, start, end, cut, delay);
    assert.deepEqual(panel.columns, expected.columns);
    assert.deepEqual(spelled(panel, panel.days.keys()), expected.rows);
    assert.deepEqual(spelled(panel, panel.fit), expected.fit);
    assert.deepEqual(spelled(panel, panel.score), expected.score);
    assert.equal(countOf(panel.warnings, "nonpositive_price"), expected.nonpositive);
    assert.equal(countOf(panel.warnings, "long_gap"), expected.longGaps);
    assert.equal(countOf(panel.warnings, "empty_feature"), expected.emptyColumns.length);
    const { rowsWithMissing, warmUpRows } = expected;
    assert.equal(countOf(panel.warnings, "missing_features"), rowsWithMissing - warmUpRows);
    assert.equal(panel.warmUp.rows, warmUpRows);
    if (warmUpRows > 0 && warmUpRows < rowsWithMissing) both++;
  });
  fc.assert(property, { numRuns: 600, seed: 7 });
  assert.ok(fitted > 100 && refused > 20, `both outcomes must occur: ${fitted} fitted, ${refused} refused`);
  assert.ok(both > 20, `rows that wait and rows that lack something else must occur together: ${both}`);
});

test("features dated past the window do not hide that those inside it end early", () => {
  const { quotes, dates } = clean(60);
  const features = new Map([...quotes.features].filter(([date]) => date !== dates[49]));
  const panel = build({ ...quotes, features }, dates[0]!, dates[49]!, dates[45]!);
  assert.equal(formatDay(panel.lastPriceDay), dates[49]);
  assert.equal(formatDay(panel.lastFeatureDay!), dates[48]);
});

/** A clean history of n weekdays. */
function clean(n: number): { quotes: Quotes; dates: string[] } {
  const rates = { noPrice: 0, badPrice: 0, longGap: 0, noFeatureRow: 0, missingValue: 0, lateFeature: 9 };
  const quotes = faultyQuotes({ seed: 5, dates: n, ...rates });
  return { quotes, dates: [...quotes.prices.keys()] };
}

test("thirty fit rows are enough and twenty-nine are not", () => {
  const { quotes, dates } = clean(60);
  assert.equal(build(quotes, dates[0]!, dates[59]!, dates[MIN_FIT_ROWS]!).fit.length, MIN_FIT_ROWS);
  assert.throws(
    () => build(quotes, dates[0]!, dates[59]!, dates[MIN_FIT_ROWS - 1]!),
    (error) => {
      assert.ok(error instanceof MucastError);
      assert.equal(error.code, "insufficient_history");
      assert.match(error.message, /^AAA has 29 fit rows, at least 30 are needed: 60 price dates/);
      assert.equal((error.data.rows as { candidates: number }).candidates, 29);
      return true;
    },
  );
});

/** A clean history in which the named features lack the given rows. */
function lacking(missing: Readonly<Record<string, readonly number[]>>): TickerPanel {
  const { quotes, dates } = clean(60);
  const features = new Map(
    [...quotes.features].map(([date, values]) => {
      const row = dates.indexOf(date);
      return [
        date,
        values.map((value, c) =>
          Object.hasOwn(missing, quotes.names[c]!) && missing[quotes.names[c]!]!.includes(row)
            ? Number.NaN
            : value,
        ),
      ];
    }),
  );
  return build({ ...quotes, features }, dates[0]!, dates[59]!, dates[59]!);
}

test("counts rows that wait for the window of a feature separately from the warning about others", () => {
  const waiting = lacking({ mom: [0, 1, 2], vol: [0, 1, 2, 3, 4] });
  assert.deepEqual(waiting.warmUp, { rows: 5, feature: "vol" });
  assert.deepEqual(waiting.warnings, []);

  // On row 1, mom is missing after it was present, so that row lacks something besides what it waits for.
  const torn = lacking({ mom: [1, 30], vol: [0, 1, 2, 3, 4] });
  assert.deepEqual(torn.warmUp, { rows: 4, feature: "vol" });
  assert.deepEqual(
    torn.warnings.map(({ code, count, message }) => [code, count, message]),
    [
      [
        "missing_features",
        2,
        "AAA: 2 rows lack a feature and are left out; mom is missing most often, on 2 rows.",
      ],
    ],
  );

  const none = lacking({ mom: [30] });
  assert.deepEqual(none.warmUp, { rows: 0, feature: undefined });
  assert.equal(countOf(none.warnings, "missing_features"), 1);
});

test("monthly prices fail as sparse_prices, weekly ones are accepted", () => {
  const { quotes } = clean(120);
  const everyDays = (step: number): Quotes => {
    const at = (i: number) => formatDay(parseDay("2010-01-04")! + step * i);
    const moved = <T>(values: ReadonlyMap<string, T>) =>
      new Map([...values.values()].map((value, i) => [at(i), value]));
    return { ...quotes, prices: moved(quotes.prices), features: moved(quotes.features) };
  };
  assert.throws(() => build(everyDays(30), "2000-01-01", "2030-01-01", "2030-01-01"), {
    code: "sparse_prices",
    message:
      "AAA has prices 30 calendar days apart (median), and a label needs the next one within 10: " +
      "119 of 120 price dates have no label",
  });
  assert.equal(build(everyDays(7), "2000-01-01", "2030-01-01", "2030-01-01").fit.length, 119);
});
