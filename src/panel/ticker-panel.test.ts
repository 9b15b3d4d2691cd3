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

/** Forty weekdays with every fault of the numeric contract at once, each inserted by hand. */
function everyFault(): { quotes: Quotes; dates: string[] } {
  const names = ["ok", "empty", "holey"];
  const prices = new Map<string, number>();
  const features = new Map<string, number[]>();
  const dates: string[] = [];
  let day = parseDay("2021-01-04")!;
  for (let i = 0; i < 50; i++) {
    if (i === 20) day += 14;
    while ([0, 6].includes(new Date(day * 86_400_000).getUTCDay())) day++;
    const date = formatDay(day);
    dates.push(date);
    prices.set(date, 100 + i);
    features.set(date, [i, Number.NaN, i / 2]);
    day++;
  }
  prices.set(dates[3]!, 0);
  prices.set(dates[4]!, -5);
  prices.set(dates[5]!, Number.NaN);
  prices.set(dates[6]!, Number.POSITIVE_INFINITY);
  prices.delete(dates[7]!);
  features.delete(dates[9]!);
  features.set("2021-01-09", [1, 1, 1]); // a Saturday: no price date
  features.get(dates[11]!)![2] = Number.NaN;
  features.get(dates[12]!)![0] = Number.NEGATIVE_INFINITY;
  features.get(dates[13]!)![2] = Number.NaN;
  features.get(dates[48]!)![1] = 1; // the empty feature gets values after the cut
  prices.set("2020-01-02", 1); // before the window
  features.set("2020-01-02", [1, 1, 1]);
  return { quotes: { names, prices, features }, dates };
}

test("leaves exactly the trustworthy rows with every fault at once", () => {
  const { quotes, dates } = everyFault();
  const panel = build(quotes, dates[0]!, dates[49]!, dates[45]!);
  const without = new Set([3, 4, 5, 6, 7, 9, 11, 12, 13]);
  const kept = dates.filter((_, i) => !without.has(i));
  assert.deepEqual(panel.columns, ["ok", "holey"]);
  assert.deepEqual([...panel.days].map(formatDay), kept);
  // The row before the gap of 14 days (19) has no label; 44 is the last whose label is known on date 45.
  const fitDates = dates.filter((_, i) => !without.has(i) && i !== 19 && i <= 44);
  assert.deepEqual(
    [...panel.fit].map((i) => formatDay(panel.days[i]!)),
    fitDates,
  );
  assert.deepEqual(
    [...panel.score].map((i) => formatDay(panel.days[i]!)),
    dates.slice(45),
  );
  // The label of date 2 spans the five dates without a price.
  assert.equal(panel.y[2], Math.log(108 / 102));
  assert.equal(formatDay(panel.labelDays[2]!), dates[8]);
  assert.deepEqual(
    panel.warnings.map(({ code, count, ticker }) => ({ code, count, ticker })),
    [
      { code: "nonpositive_price", count: 2, ticker: "AAA" },
      { code: "long_gap", count: 1, ticker: "AAA" },
      { code: "empty_feature", count: 1, ticker: "AAA" },
      { code: "missing_features", count: 3, ticker: "AAA" },
    ],
  );
  assert.match(panel.warnings[2]!.message, /\bempty\b/);
  assert.match(panel.warnings[3]!.message, /holey is missing most often, on 2 rows/);
  assert.equal(formatDay(panel.lastPriceDay), dates[49]);
  assert.equal(formatDay(panel.lastFeatureDay!), dates[49]);
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

test("without Learning_end, only the last price date is a score row", () => {
  const { quotes, dates } = clean(60);
  const panel = build(quotes, dates[0]!, dates[59]!, dates[59]!);
  assert.equal(panel.fit.length, 59);
  assert.deepEqual([...panel.score], [59]);
  assert.ok(Number.isNaN(panel.y[59]));
  assert.deepEqual(panel.warnings, []);
});

test("uses the label realised on the cut itself, and not the next one", () => {
  const { quotes, dates } = clean(60);
  const panel = build(quotes, dates[0]!, dates[59]!, dates[40]!);
  assert.equal(formatDay(panel.days[panel.fit.at(-1)!]!), dates[39]);
  assert.equal(formatDay(panel.days[panel.score[0]!]!), dates[40]);
});

test("with a delay, score rows begin at the cut, even if the last rows with a known label are incomplete", () => {
  const { quotes, dates } = clean(60);
  for (const i of [36, 37]) (quotes.features.get(dates[i]!) as number[])[0] = Number.NaN;
  const panel = build(quotes, dates[0]!, dates[59]!, dates[40]!, 2);
  assert.equal(formatDay(panel.days[panel.fit.at(-1)!]!), dates[35]);
  assert.equal(formatDay(panel.days[panel.score[0]!]!), dates[40]);
});

test("a cut on a day without trading uses what was known by then", () => {
  const { quotes, dates } = clean(60);
  const monday = dates.findIndex((date, i) => i > 40 && new Date(date).getUTCDay() === 1);
  const sunday = formatDay(parseDay(dates[monday]!)! - 1);
  const panel = build(quotes, dates[0]!, dates[59]!, sunday);
  assert.equal(formatDay(panel.labelDays[panel.fit.at(-1)!]!), dates[monday - 1]);
});

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

test("a gap of ten calendar days makes a label, and one of eleven does not", () => {
  const { quotes } = clean(60);
  const last = parseDay([...quotes.prices.keys()].at(-1)!)!;
  for (const [gap, labels] of [
    [10, 60],
    [11, 59],
  ] as const) {
    const later = formatDay(last + gap);
    const prices = new Map(quotes.prices).set(later, 50);
    const panel = build({ ...quotes, prices }, "2000-01-01", later, later);
    assert.equal(panel.y.filter((y) => !Number.isNaN(y)).length, labels);
    assert.equal(countOf(panel.warnings, "long_gap"), 60 - labels);
    const text = panel.warnings.find(({ code }) => code === "long_gap")?.message;
    if (gap === 11)
      assert.match(text ?? "", new RegExp(`largest gap is from ${formatDay(last)} to ${later}\\.$`));
  }
});

test("a ticker without a usable feature has no fit rows", () => {
  const { quotes, dates } = clean(60);
  const names: string[] = [];
  const features = new Map(dates.map((date) => [date, []]));
  assert.throws(() => build({ ...quotes, names, features }, dates[0]!, dates[59]!, dates[59]!), {
    code: "insufficient_history",
    message: /0 of 0 features have values/,
  });
});

test("a ticker without any row in the window fails as insufficient_history with its counts", () => {
  const { quotes } = clean(60);
  assert.throws(() => build(quotes, "1999-01-01", "1999-12-31", "1999-12-31"), {
    code: "insufficient_history",
    message: /AAA has 0 fit rows.*0 price dates/,
  });
});

test("names the first of two features that are missing equally often", () => {
  const { quotes, dates } = clean(60);
  const features = new Map(quotes.features)
    .set(dates[5]!, [1, Number.NaN, 1, 1])
    .set(dates[6]!, [1, 1, 1, Number.NaN]);
  const panel = build({ ...quotes, features }, dates[0]!, dates[59]!, dates[59]!);
  assert.match(panel.warnings[0]!.message, /2 rows lack a feature .*; 10 is missing most often, on 1 row\./);
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
  assert.equal(waiting.counts.rowsWithMissing, 5);

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

test("permuting the features permutes only the columns of the matrix", () => {
  const { quotes, dates } = clean(60);
  const order = [2, 0, 3, 1];
  const permuted: Quotes = {
    names: order.map((c) => quotes.names[c]!),
    prices: quotes.prices,
    features: new Map([...quotes.features].map(([date, row]) => [date, order.map((c) => row[c]!)])),
  };
  const panel = build(quotes, dates[0]!, dates[59]!, dates[50]!);
  const other = build(permuted, dates[0]!, dates[59]!, dates[50]!);
  assert.deepEqual(other.columns, permuted.names);
  const k = order.length;
  assert.deepEqual(
    other.x,
    panel.x.map((_, at) => panel.x[at - (at % k) + order[at % k]!]!),
  );
  assert.deepEqual({ ...other, columns: 0, x: 0 }, { ...panel, columns: 0, x: 0 });
});

test("labels of prices at the ends of the float64 range stay finite", () => {
  const { quotes, dates } = clean(60);
  const prices = new Map(quotes.prices).set(dates[10]!, 5e-324).set(dates[11]!, 1.7e308);
  const panel = build({ ...quotes, prices }, dates[0]!, dates[59]!, dates[59]!);
  assert.ok(Math.abs(panel.y[10]! - (Math.log(1.7e308) - Math.log(5e-324))) < 1e-9);
  assert.equal(panel.y.subarray(0, 59).every(Number.isFinite), true);
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
