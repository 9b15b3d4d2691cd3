import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import zlib from "node:zlib";
import fc from "fast-check";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { COMPRESSIONS, type Compression } from "../../contract/config/input-formats.ts";
import { formatDay } from "../../contract/market/dates.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { readBytes } from "../../ingest/table-twin.testing.ts";
import { tableBytes } from "./table-writer.ts";

interface Table {
  readonly columns: readonly string[];
  readonly isFloat32?: boolean;
  readonly compression?: Compression;
}

function written(table: Table, dates: Int32Array, tickers: readonly TickerSeries[]): Buffer {
  const whole = { isFloat32: false, compression: "snappy" as const, metadata: {}, ...table };
  return Buffer.concat([...tableBytes(whole, dates, tickers)]);
}

function rowsOf(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const compressors = { ZSTD: (page: Uint8Array) => new Uint8Array(zlib.zstdDecompressSync(page)) };
  return parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
}

/** The slow twin: a row for each ticker and date. */
function expectedRows(
  { columns, isFloat32 = false }: Table,
  dates: Int32Array,
  tickers: readonly TickerSeries[],
) {
  return tickers.flatMap(({ ticker, days, values }) =>
    [...dates].map((date) => {
      const i = days.indexOf(date);
      const cells = columns.map((name, c) => {
        const value = i < 0 ? Number.NaN : values[c * days.length + i]!;
        const stored = (isFloat32 ? Math.fround(value) : value) + 0;
        return [name, Number.isFinite(stored) ? stored : null];
      });
      return { date: formatDay(date), ticker, ...Object.fromEntries(cells) };
    }),
  );
}

const days = fc
  .uniqueArray(fc.integer({ min: -3_000, max: 40_000 }), { maxLength: 9 })
  .map((list) => Int32Array.from(list).sort());
const value = fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN, Number.NEGATIVE_INFINITY, 1e300));
const columns = ["a", "é 😀", "__proto__x"];
const series = (ticker: string): fc.Arbitrary<TickerSeries> =>
  days.chain((own) =>
    fc.array(value, { minLength: own.length * 3, maxLength: own.length * 3 }).map((values) => ({
      ticker,
      days: own,
      columns,
      values: Float64Array.from(values),
    })),
  );

test("hyparquet reads the rows that were written", async () => {
  const market = fc.tuple(series("A"), series("É😀"), series("B"));
  const table = fc.record({
    columns: fc.constant(columns),
    isFloat32: fc.boolean(),
    compression: fc.constantFrom(...COMPRESSIONS),
  });
  await fc.assert(
    fc.asyncProperty(table, days, market, fc.nat(3), async (of, dates, all, count) => {
      const tickers = all.slice(0, count);
      const rows = (await rowsOf(written(of, dates, tickers))).map(({ date, ...cells }) => {
        assert.ok(date instanceof Date);
        return { date: date.toISOString().slice(0, 10), ...cells };
      });
      assert.deepEqual(rows, expectedRows({ ...of }, dates, tickers));
    }),
  );
});

test("a ticker in two row groups, and many tickers in one, are read by a job as they were written", async () => {
  const dates = Int32Array.from({ length: 90_000 }, (_, i) => i - 20_000);
  const long = (ticker: string, step: number): TickerSeries => {
    const own = dates.filter((_, i) => i % step === 0);
    return {
      ticker,
      days: own,
      columns: ["a"],
      values: Float64Array.from(own, (day) => (day % 7 === 0 ? Number.NaN : day / 3)),
    };
  };
  const tickers = [long("A", 1), long("B", 2), long("C", 1)];
  const bytes = written({ columns: ["a"] }, dates, tickers);
  assert.deepEqual(
    parquetMetadata(new Uint8Array(bytes).buffer).row_groups.map(({ num_rows }) => Number(num_rows)),
    [131_072, 131_072, 7_856],
  );
  const read = await readBytes("features", bytes, tmpdir());
  for (const [t, found] of read.tickers.entries()) {
    const { days: own, values } = tickers[t]!;
    assert.deepEqual([found.ticker, found.columns, found.days], [tickers[t]!.ticker, ["a"], dates]);
    const expected = new Float64Array(dates.length).fill(Number.NaN);
    for (const [i, day] of own.entries()) expected[day + 20_000] = values[i]!;
    assert.deepEqual(found.values, expected);
  }
  const names = Array.from({ length: 300 }, (_, t) => `T${t}`);
  const short = names.map((ticker) => ({
    ...{ ticker, columns: ["a"] },
    ...{ days: dates.subarray(0, 2), values: Float64Array.of(1, Number.NaN) },
  }));
  const many = await readBytes(
    "features",
    written({ columns: ["a"] }, dates.subarray(0, 2), short),
    tmpdir(),
  );
  assert.deepEqual(
    many.tickers.map(({ ticker, days: own }) => [ticker, own.length]),
    names.map((name) => [name, 2]),
  );
});
