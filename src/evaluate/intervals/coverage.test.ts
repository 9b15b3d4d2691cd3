import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDay } from "../../contract/market/dates.ts";
import { type CoveredRows, coverageTable, scoreRatio } from "./coverage.ts";

const NONE = Number.NaN;

/** Consecutive days from 2020-12-30 on, from their lower end, label and upper end. */
function rows(
  ticker: string,
  triples: readonly (readonly [number, number, number])[],
  more: Partial<CoveredRows> = {},
): CoveredRows {
  const first = parseDay("2020-12-30")!;
  return {
    ticker,
    days: Int32Array.from(triples, (_, i) => first + i),
    lower: Float64Array.from(triples, (triple) => triple[0]),
    realised: Float64Array.from(triples, (triple) => triple[1]),
    upper: Float64Array.from(triples, (triple) => triple[2]),
    predicted: Float64Array.from(triples, ([low, , high]) => (low + high) / 2),
    volatility: new Float64Array(triples.length),
    ...more,
  };
}

/** The members that outputs have had from the start. */
function short({
  n,
  coverage,
  mean_width,
}: {
  n: number;
  coverage: number | null;
  mean_width: number | null;
}) {
  return { n, coverage, mean_width };
}

test("a label on an end is covered, and rows without a label do not count", () => {
  const two = rows("B", [
    [0, 0, 2],
    [0, 2, 2],
    [0, 2.1, 2],
    [0, -0.1, 2],
    [0, NONE, 9],
  ]);
  const one = rows("A", [[1, 2, 5]]);
  const { pooled, by_ticker } = coverageTable([two, one], 0.1);
  assert.deepEqual([...by_ticker.keys()], ["A", "B"]);
  assert.deepEqual(short(by_ticker.get("B")!), { n: 4, coverage: 0.5, mean_width: 2 });
  assert.deepEqual(short(by_ticker.get("A")!), { n: 1, coverage: 1, mean_width: 4 });
  assert.deepEqual(short(pooled), { n: 5, coverage: 0.6, mean_width: 2.4 });
});

test("an interval score is the width, and 2 / alpha times the distance of a miss", () => {
  const table = coverageTable(
    [
      rows("A", [
        [0, 1, 2],
        [0, 2.5, 2],
        [0, -1, 2],
      ]),
    ],
    0.25,
  );
  assert.equal(table.pooled.interval_score, (2 + (2 + 8 * 0.5) + (2 + 8 * 1)) / 3);
});

test("a one-sided interval has no width, and a score from its distance", () => {
  const predicted = Float64Array.of(1, 1);
  const lower = rows(
    "A",
    [
      [0, 1, NONE],
      [0, -1, NONE],
    ],
    { predicted },
  );
  const below = coverageTable([lower], 0.5).pooled;
  assert.deepEqual(short(below), { n: 2, coverage: 0.5, mean_width: null });
  assert.equal(below.interval_score, (1 + (1 + 2 * 1)) / 2);
  const upper = rows(
    "A",
    [
      [NONE, 1, 2],
      [NONE, 3, 2],
    ],
    { predicted },
  );
  const above = coverageTable([upper], 0.5).pooled;
  assert.deepEqual(short(above), { n: 2, coverage: 0.5, mean_width: null });
  assert.equal(above.interval_score, (1 + (1 + 2 * 1)) / 2);
});

test("each calendar year has its rows, in ascending order", () => {
  const { by_year, n } = coverageTable(
    [
      rows(
        "B",
        Array.from({ length: 5 }, () => [0, 1, 2] as const),
      ),
      rows("A", [
        [0, 3, 2],
        [0, 1, 2],
      ]),
    ],
    0.1,
  ).pooled;
  assert.deepEqual(
    Object.entries(by_year!).map(([year, tally]) => [year, tally.n, tally.coverage]),
    [
      ["2020", 4, 0.75],
      ["2021", 3, 1],
    ],
  );
  assert.equal(n, 7);
});

test("days of high volatility are the tenth of a ticker's labelled rows with the highest volatility, the earlier ones first if equal", () => {
  const volatility = Float64Array.from({ length: 25 }, (_, i) => (i === 3 || i === 9 || i === 20 ? 5 : NONE));
  // Row 3 has no label; rows 9 and 20 are the two of 24.
  const triples = Array.from({ length: 25 }, (_, i) => [0, i === 3 ? NONE : i === 20 ? 7 : 1, 2] as const);
  const { high_volatility } = coverageTable([rows("A", triples, { volatility })], 0.1).pooled;
  assert.deepEqual([high_volatility!.n, high_volatility!.coverage], [2, 0.5]);
  const equal = new Float64Array(25).fill(1);
  const first = coverageTable([rows("A", triples, { volatility: equal })], 0.1).pooled;
  assert.deepEqual([first.high_volatility!.n, first.high_volatility!.coverage], [2, 1]);
  const few = coverageTable([rows("A", triples.slice(0, 9), { volatility: equal })], 0.1).pooled;
  assert.equal(few.high_volatility!.n, 0);
});

test("reports the worst 250 successive rows of one ticker, and null for fewer rows", () => {
  const missing = new Set([100, 101, 300, 301, 302, 549, 551]);
  const triples = Array.from({ length: 600 }, (_, i) => [0, missing.has(i) ? 3 : 1, 2] as const);
  const table = coverageTable([rows("A", triples), rows("B", triples.slice(0, 249))], 0.1);
  // Only rows 100 to 349 contain five misses.
  assert.equal(table.by_ticker.get("A")!.worst_250, (250 - 5) / 250);
  assert.equal(table.by_ticker.get("B")!.worst_250, null);
  assert.equal(table.pooled.worst_250, (250 - 5) / 250);
});

test("residuals that test their intervals count those with ends", () => {
  const prequential = {
    realised: Float64Array.of(1, 1, 5),
    predicted: Float64Array.of(0, 0, 0),
    lower: Float64Array.of(NONE, 0, 0),
    upper: Float64Array.of(NONE, 2, 2),
  };
  const { pooled, by_ticker } = coverageTable(
    [rows("A", [], { prequential }), rows("B", [], { prequential: undefined })],
    0.1,
  );
  assert.deepEqual(by_ticker.get("A")!.prequential, { n: 2, coverage: 0.5 });
  assert.equal(by_ticker.get("B")!.prequential, null);
  assert.deepEqual(pooled.prequential, { n: 2, coverage: 0.5 });
});

test("without intervals or rows, coverage is null and the ticker is still listed", () => {
  const { pooled, by_ticker } = coverageTable([rows("A", [[NONE, 1, NONE]]), rows("B", [])], 0.1);
  const none = { n: 0, coverage: null, mean_width: null, interval_score: null };
  const nothing = { ...none, by_year: {}, high_volatility: none, worst_250: null };
  assert.deepEqual(pooled, nothing);
  assert.deepEqual(
    [...by_ticker],
    [
      ["A", nothing],
      ["B", nothing],
    ],
  );
});

test("a ratio of scores is the mean over tickers of the tickers' ratios, on rows for which both have ends", () => {
  const narrow = rows("A", [
    [0, 1, 2],
    [NONE, 1, NONE],
  ]);
  const wide = rows("A", [
    [-1, 1, 3],
    [0, 1, 9],
  ]);
  assert.equal(scoreRatio([[narrow, wide]], 0.1), 0.5);
  const pairs = [
    [narrow, wide],
    [wide, wide],
  ] as const;
  assert.equal(scoreRatio(pairs, 0.1), 0.75);
  assert.equal(scoreRatio([[rows("A", []), rows("A", [])]], 0.1), null);
});

test("reports coverage by tenths of volatility, from the quietest to the wildest, which equals high_volatility", () => {
  // 24 labelled rows, all but three of equal volatility; row 3 has no label.
  const volatility = Float64Array.from({ length: 25 }, (_, i) =>
    i === 9 || i === 20 ? 5 : i === 12 ? 0.5 : 1,
  );
  const triples = Array.from(
    { length: 25 },
    (_, i) => [0, i === 3 ? NONE : i === 20 || i === 12 ? 7 : 1, i === 12 ? 4 : 2] as const,
  );
  const table = coverageTable([rows("A", triples, { volatility })], 0.1);
  assert.equal(table.by_volatility.length, 10);
  assert.deepEqual(
    table.by_volatility.map(({ n }) => n),
    [3, 2, 3, 2, 2, 3, 2, 3, 2, 2],
  );
  assert.deepEqual(short(table.by_volatility[0]!), { n: 3, coverage: 2 / 3, mean_width: 8 / 3 });
  assert.deepEqual(table.by_volatility[9], table.pooled.high_volatility);
  assert.ok(table.by_volatility.slice(1, 9).every(({ coverage }) => coverage === 1));
});

test("rows of unknown volatility are in no tenth, and a ticker with fewer than ten other rows has no tenths", () => {
  const volatility = Float64Array.from({ length: 12 }, (_, i) => (i < 2 ? NONE : i));
  const triples = Array.from({ length: 12 }, () => [0, 1, 2] as const);
  const known = (n: number) =>
    coverageTable(
      [rows("A", triples.slice(0, n), { volatility: volatility.slice(0, n) })],
      0.1,
    ).by_volatility.map((tenth) => tenth.n);
  assert.deepEqual(known(12), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(known(11), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test("a date counts as missed together if at least half of five or more tickers missed", () => {
  /** Tickers with two dates each. The first `missing` of them miss the first date, none the second. */
  const joint = (tickers: number, missing: number) =>
    coverageTable(
      Array.from({ length: tickers }, (_, t) =>
        rows(`T${t}`, [
          [0, t < missing ? 3 : 1, 2],
          [0, 1, 2],
        ]),
      ),
      0.1,
    ).joint_misses;
  assert.deepEqual(joint(6, 3), { dates: 2, half_missed: 1 });
  assert.deepEqual(joint(6, 2), { dates: 2, half_missed: 0 });
  assert.deepEqual(joint(5, 3), { dates: 2, half_missed: 1 });
  assert.deepEqual(joint(5, 2), { dates: 2, half_missed: 0 });
  assert.deepEqual(joint(4, 4), { dates: 0, half_missed: 0 });
});

test("ignores tickers without ends or without a label on a date", () => {
  const all = [0, 1, 2, 3, 4].map((t) =>
    rows(`T${t}`, [
      [t === 0 ? NONE : 0, 3, t === 0 ? NONE : 2],
      [0, t === 0 ? NONE : 3, 2],
      [0, 3, 2],
    ]),
  );
  assert.deepEqual(coverageTable(all, 0.1).joint_misses, { dates: 1, half_missed: 1 });
});
