import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { cut, cuts, sourceOf } from "./chunks.testing.ts";
import { LAYOUTS, type Layout, type Style, type WrittenTicker } from "./layout-writers.testing.ts";
import { readBlob, readFeatures } from "./read-blob.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-layouts-"));
after(() => rm(workFolder, { recursive: true }));

/** Names with a special meaning in some layout. */
const RESERVED =
  /^(dates?|timestamp|ticker|symbol|data|features|prices|columns|index|window|sample|metadata|start|end|\d{8,}|\d{4}-.*)/i;
const name = fc
  .oneof(
    fc.constantFrom("", ..."AAPL mom_5 10 2 __proto__ constructor toString BRK.B É 😀".split(" ")),
    fc.string({ maxLength: 6 }),
  )
  .filter((text) => !RESERVED.test(text.replaceAll(/[\s_]/g, "")));
const number = fc
  .oneof(
    fc.double({ noNaN: true }),
    fc.integer({ min: -9, max: 9 }),
    fc.double({ min: -1, max: 1, noNaN: true }),
  )
  .map((value) => (Object.is(value, -0) ? "-0" : Number.isFinite(value) ? `${value}` : "null"));
const day = fc.integer({ min: -5000, max: 30_000 }).filter((value) => Math.abs(value) > 1);
const style: fc.Arbitrary<Style> = fc.record({
  dates: fc.constantFrom("date", "date-time", "epoch"),
  space: fc.constantFrom("", " ", "\n\t"),
  missing: fc.constantFrom("null", "NaN"),
});

/** Tickers with their own days, in any order; with `shared`, all have the same days. */
function tickersOf(isShared: boolean, missing: Style["missing"]): fc.Arbitrary<WrittenTicker[]> {
  const days = fc.uniqueArray(day, { maxLength: 8 });
  const cell = fc.oneof({ weight: 6, arbitrary: number }, fc.constant(missing), fc.constant(undefined));
  return fc.tuple(fc.uniqueArray(name, { maxLength: 4 }), days).chain(([names, shared]) =>
    fc.tuple(
      ...names.map((ticker) =>
        fc
          .tuple(fc.uniqueArray(name, { minLength: 1, maxLength: 4 }), isShared ? fc.constant(shared) : days)
          .chain(([columns, own]) => {
            const row = fc.array(cell, { minLength: columns.length, maxLength: columns.length });
            const cells = fc.array(row, { minLength: own.length, maxLength: own.length });
            return cells.map((rows) => ({ ticker, columns, days: own, cells: rows }));
          }),
      ),
    ),
  );
}

async function read(text: string, lengths: readonly number[] = []) {
  const found: TickerSeries[] = [];
  const source = sourceOf(cut(Buffer.from(text), lengths));
  for await (const each of readBlob("features", source, { workFolder })) found.push(each);
  assert.ok(source.isClosed);
  return found;
}

/** Layouts that write a column without any value. */
const DENSE: readonly Layout[] = ["canonical", "dates-last", "split", "own-dates"];

/** What was read must equal what was written: days in order, and each value on its day. */
function assertSame(
  layout: Layout,
  found: readonly TickerSeries[],
  tickers: readonly WrittenTicker[],
  text: string,
) {
  const expected = tickers.flatMap(({ ticker, columns, days, cells }) => {
    const written = columns.filter(
      (_, j) => DENSE.includes(layout) || layout === "by-column" || cells.some((row) => row[j] !== undefined),
    );
    const rows = [...days.keys()]
      .filter((i) => layout !== "by-column" || cells[i]!.some((cell) => cell !== undefined))
      .sort((a, b) => days[a]! - days[b]!);
    if (rows.length === 0 && (layout === "flat" || layout === "date-first")) return [];
    const numberOf = (i: number, name: string) =>
      Number(cells[i]![columns.indexOf(name)]?.replace("null", "NaN") ?? "NaN");
    const values = written.toSorted().map((name) => rows.map((i) => numberOf(i, name)));
    return [{ ticker, days: rows.map((i) => days[i]!), columns: written.toSorted(), values }];
  });
  const byName = (a: { ticker: string }, b: { ticker: string }) => (a.ticker < b.ticker ? -1 : 1);
  const actual = found.map(({ ticker, days, columns, values }) => {
    const n = days.length;
    const columnOf = (name: string) => [
      ...values.slice(columns.indexOf(name) * n, (columns.indexOf(name) + 1) * n),
    ];
    return { ticker, days: [...days], columns: columns.toSorted(), values: columns.toSorted().map(columnOf) };
  });
  assert.deepEqual(actual.sort(byName), expected.sort(byName), text);
}

describe("a feature blob", () => {
  for (const layout of Object.keys(LAYOUTS) as Layout[]) {
    it(`in the layout ${layout} is read as it was written, wherever it is cut`, async () => {
      const isShared = layout === "canonical" || layout === "dates-last";
      const blob = style.chain((each) => fc.tuple(fc.constant(each), tickersOf(isShared, each.missing)));
      await fc.assert(
        fc.asyncProperty(blob, cuts, async ([how, tickers], at) => {
          const text = LAYOUTS[layout](tickers, how);
          if (text !== "{}") assertSame(layout, await read(text, at), tickers, text);
        }),
        { numRuns: 100 },
      );
    });
  }

  it("keeps columns in the order of the bytes, even names that JavaScript objects would move", async () => {
    const columns = ["z", "10", "__proto__", "2", "a"];
    const tickers = [
      { ticker: "AAPL", columns, days: [10, 11], cells: [columns.map(() => "1"), columns.map(() => "2")] },
    ];
    for (const [layout, write] of Object.entries(LAYOUTS)) {
      for (const dates of ["date", "epoch"] as const) {
        const [found] = await read(write(tickers, { dates, space: "", missing: "null" }));
        assert.deepEqual(found!.columns, columns, layout);
      }
    }
  });

  it("keeps the columns of each ticker in their own order, in records that are parsed together", async () => {
    const records = [
      '{"ticker":"A","date":"2020-01-02","10":1,"2":2}',
      '{"2":3,"10":4,"x\\"7":5,"ticker":"B","date":"2020-01-02"}',
    ];
    const columns = Object.fromEntries(
      (await read(`[${records}]`)).map((each) => [each.ticker, each.columns]),
    );
    assert.deepEqual(columns, { A: ["10", "2"], B: ["2", "10", 'x"7'] });
  });

  it("closes its source when the reader stops early", async () => {
    const text = LAYOUTS.canonical(EXAMPLE, { dates: "date", space: "", missing: "null" });
    const source = sourceOf(cut(Buffer.from(text), [10]));
    for await (const { ticker } of readFeatures(source, { workFolder })) {
      assert.equal(ticker, "A");
      break;
    }
    assert.ok(source.isClosed);
  });

  it("yields a ticker before the bytes after it have come", async () => {
    const text = LAYOUTS.canonical(EXAMPLE, { dates: "date", space: "", missing: "null" });
    const firstPart = text.indexOf('"B"');
    let asked = 0;
    async function* chunks() {
      asked = 1;
      yield Buffer.from(text.slice(0, firstPart));
      asked = 2;
      yield Buffer.from(text.slice(firstPart));
    }
    const features = readFeatures({ name: "blob.json", chunks: chunks() }, { workFolder });
    assert.equal((await features.next()).value?.ticker, "A");
    assert.equal(asked, 1);
    assert.equal((await features.next()).value?.ticker, "B");
    assert.equal((await features.next()).done, true);
  });

  it("ends with the reason of its signal", async () => {
    const text = Buffer.from(LAYOUTS.canonical(EXAMPLE, { dates: "date", space: "", missing: "null" }));
    const source = sourceOf([text, text]);
    const stopped = new AbortController();
    stopped.abort(new Error("enough"));
    const features = readFeatures(source, { workFolder, signal: stopped.signal });
    await assert.rejects(features.next(), /enough/);
  });
});

const EXAMPLE: readonly WrittenTicker[] = [
  {
    ticker: "A",
    columns: ["x", "y z"],
    days: [18_000, 18_001, 18_002],
    cells: [
      ["1.5", "-2e-3"],
      ["0", "null"],
      ["7", "8"],
    ],
  },
  { ticker: "B", columns: ["x"], days: [18_000, 18_001, 18_002], cells: [["0.25"], ["3"], ["-0"]] },
];
