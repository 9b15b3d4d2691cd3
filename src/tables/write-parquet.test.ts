import assert from "node:assert/strict";
import { arrayBuffer } from "node:stream/consumers";
import { test } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import { type ParquetTable, parquetBytes, type Rows } from "./write-parquet.ts";

const COLUMNS = [
  { name: "ticker", kind: "text" },
  { name: "day", kind: "day" },
  { name: "midnight", kind: "midnight" },
  { name: "integer", kind: "integer" },
  { name: 'float "1"', kind: "float" },
  { name: "é 😀", kind: "double" },
  { name: "É 😀", kind: "double" },
  { name: "__proto__x", kind: "double" },
] as const;

function write(table: Partial<ParquetTable>, parts: Iterable<Rows>): Promise<ArrayBuffer> {
  const whole = { columns: COLUMNS, compression: "snappy", metadata: {}, ...table } as const;
  return arrayBuffer(parquetBytes(whole, parts));
}

/** The slow twin. */
function expected(parts: readonly Rows[]): Record<string, unknown>[] {
  return parts.flatMap(({ count, values }) =>
    Array.from({ length: count }, (_, i) =>
      Object.fromEntries(
        COLUMNS.map(({ name, kind }, c) => {
          const column = values[c]!;
          if (typeof column === "string") return [name, column];
          const value = (kind === "float" ? Math.fround(column[i]!) : column[i]!) + 0;
          if (kind === "day" || kind === "midnight") return [name, new Date(value * MILLISECONDS_PER_DAY)];
          return [name, Number.isFinite(value) ? value : null];
        }),
      ),
    ),
  );
}

const day = fc.integer({ min: -3_000, max: 40_000 });
const integer = fc.oneof(fc.integer(), fc.constant(Number.NaN));
const number = fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN, Number.NEGATIVE_INFINITY, 1e300));
const part: fc.Arbitrary<Rows> = fc.nat(5).chain((count) => {
  const column = (value: fc.Arbitrary<number>) =>
    fc.array(value, { minLength: count, maxLength: count }).map((list) => Float64Array.from(list));
  const numbers = [day, day, integer, number, number, number, number].map(column);
  return fc.tuple(fc.constantFrom("A", "É😀", 'a "b"'), ...numbers).map((values) => ({ count, values }));
});

test("hyparquet reads the rows that were written, and writing them again gives the same bytes", async () => {
  const table = fc.record({
    compression: fc.constantFrom("snappy", "zstd"),
    metadata: fc.dictionary(fc.constantFrom("start", "it's"), fc.constantFrom("2020-01-01", "'")),
  });
  const compressors = { ZSTD: (page: Uint8Array) => new Uint8Array(zstdDecompressSync(page)) };
  await fc.assert(
    fc.asyncProperty(table, fc.array(part, { maxLength: 4 }), async (of, parts) => {
      const file = await write(of, parts);
      assert.deepEqual(await parquetReadObjects({ file, compressors }), expected(parts));
      const { key_value_metadata: metadata = [] } = parquetMetadata(file);
      assert.deepEqual(Object.fromEntries(metadata.map(({ key, value }) => [key, value])), {
        ...of.metadata,
      });
      assert.deepEqual(await write(of, parts), file);
    }),
    { numRuns: 50 },
  );
});

function rowCounts(file: ArrayBuffer): number[] {
  return parquetMetadata(file).row_groups.map(({ num_rows }) => Number(num_rows));
}

test("a part may be longer than a row group, and wide tables have shorter ones", async () => {
  const count = 123_000;
  const days = Int32Array.from({ length: count }, (_, i) => i - 20_000);
  const columns = [...COLUMNS.slice(0, 2), { name: "x", kind: "integer" } as const];
  const file = await write({ columns }, [{ count, values: ["A", days, days] }]);
  assert.deepEqual(rowCounts(file), [122_880, 120]);
  const rows = await parquetReadObjects({ file });
  assert.deepEqual(
    Int32Array.from(rows, ({ x }) => x as number),
    days,
  );
  const wide = Array.from({ length: 10_000 }, (_, c) => ({ name: `x${c}`, kind: "float" }) as const);
  const ones = wide.map(() => new Float32Array(2_500).fill(1));
  assert.deepEqual(rowCounts(await write({ columns: wide }, [{ count: 2_500, values: ones }])), [2_048, 452]);
});

test("an error of the rows ends the table", async () => {
  const parts = function* (): Generator<Rows> {
    yield { count: 1, values: ["A"] };
    throw new RangeError("the end");
  };
  await assert.rejects(write({ columns: COLUMNS.slice(0, 1) }, parts()), /^RangeError: the end$/);
});

test("names that DuckDB would change are refused", async () => {
  for (const names of [["x", "X"], [""], ["a\0"]]) {
    const columns = names.map((name) => ({ name, kind: "double" as const }));
    const table = { columns, compression: "zstd" as const, metadata: {} };
    await assert.rejects(parquetBytes(table, []).next(), { code: "invalid_data" });
  }
});
