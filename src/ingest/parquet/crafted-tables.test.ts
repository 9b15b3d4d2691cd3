import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import zlib from "node:zlib";
import { DEFAULT_BLOB_LIMITS } from "../../contract/blob-limits.ts";
import { BlockStore } from "../block-store.ts";
import { sourceOf } from "../chunks.testing.ts";
import type { BlobKind } from "../column-names.ts";
import { readBlob } from "../read-blob.ts";
import { claimTicker, type Reading } from "../reading.ts";
import {
  type Column,
  type CraftedPage,
  column,
  type Metadata,
  withChildren,
  withMetadata,
  withPages,
} from "./crafted-tables.testing.ts";
import { tableBytes } from "./random-tables.testing.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-tables-"));
after(() => rm(workFolder, { recursive: true }));

const DOUBLES = { type: "DOUBLE" } as const;
const value = column({ name: "x", ...DOUBLES }, [1, 2, 3]);
const ticker = column({ name: "ticker", type: "BYTE_ARRAY", converted_type: "UTF8" }, ["A", "A", "B"]);
const date = column({ name: "date", type: "INT32", converted_type: "DATE" }, [18_000, 18_001, 18_000]);
/** The first column is x, whose pages some tests replace. */
const GOOD = tableBytes([value, ticker, date], { codec: "UNCOMPRESSED" });

async function read(bytes: Uint8Array, kind: BlobKind = "features", limits = DEFAULT_BLOB_LIMITS) {
  const store = new BlockStore(workFolder);
  const found: Record<string, number[]> = {};
  try {
    for await (const each of readBlob(kind, sourceOf([bytes], "t.parquet"), store, { limits })) {
      found[each.ticker] = [...each.values];
    }
  } finally {
    store.close();
  }
  return found;
}

const refused = (bytes: Uint8Array, code: string, message: RegExp, kind: BlobKind = "features") =>
  assert.rejects(read(bytes, kind), { code, message });
const damaged = (bytes: Uint8Array, message: RegExp) => refused(bytes, "unreadable_blob", message);
const chunkOf = (metadata: Metadata, index = 0) => metadata.row_groups[0]!.columns[index]!.meta_data!;
const changed = (change: (metadata: Metadata) => void) => withMetadata(GOOD, change);

describe("a Parquet table with hostile metadata", () => {
  it("is read if nothing is changed", async () => {
    assert.deepEqual(await read(GOOD), { A: [1, 2], B: [3] });
    assert.deepEqual(await read(changed(() => undefined)), { A: [1, 2], B: [3] });
  });

  it("is refused if a column lies outside the file, or on another one", async () => {
    const outside = /column "x" lies outside the file/;
    for (const [change, message] of [
      [{ total_compressed_size: 10_000n }, outside],
      [{ total_compressed_size: -1n }, outside],
      [{ data_page_offset: 2n ** 40n }, outside],
      [{ data_page_offset: -5n }, outside],
      [{ data_page_offset: 2n ** 62n }, /an integer beyond 2\^53/],
    ] as const) {
      await damaged(
        changed((all) => Object.assign(chunkOf(all), change)),
        message,
      );
    }
    const overlapping = changed((all) => {
      chunkOf(all).data_page_offset = chunkOf(all, 1).data_page_offset;
      delete chunkOf(all).dictionary_page_offset;
    });
    await damaged(overlapping, /two columns overlap at byte/);
  });

  it("is refused if its counts contradict each other", async () => {
    for (const [change, message] of [
      [(all) => (all.num_rows = 4n), /the row groups have 3 rows together, the table 4/],
      [(all) => (all.row_groups[0]!.num_rows = -3n), /no number of rows/],
      [(all) => (chunkOf(all).num_values = 2n ** 40n), /column "x" has \d+ values in a row group of 3 rows/],
      [(all) => all.row_groups[0]!.columns.pop(), /fewer columns than the schema/],
      [({ row_groups: [g] }) => g!.columns.push(g!.columns[0]!), /more columns than the schema/],
    ] as readonly [Parameters<typeof changed>[0], RegExp][]) {
      await damaged(changed(change), message);
    }
    const huge = changed((all) => {
      all.num_rows = 2n ** 30n;
      all.row_groups[0]!.num_rows = all.num_rows;
      for (const { meta_data } of all.row_groups[0]!.columns) meta_data!.num_values = all.num_rows;
    });
    await refused(huge, "too_large", /row groups of at most 16777216 rows/);
  });

  it("is refused if its schema is nested, cut, huge or ambiguous", async () => {
    await damaged(withChildren(GOOD, -1), /negative number of columns/);
    await damaged(withChildren(GOOD, 60), /the schema is cut short/);
    await damaged(withChildren(GOOD, 1), /parts outside its root/);
    const twice = tableBytes([value, ticker, date, { ...value, element: { ...value.element } }]);
    await damaged(twice, /the column "x" comes twice/);
    const deep = changed((all) => {
      const groups = Array.from({ length: 100 }, (_, i) => ({ name: `g${i}`, num_children: 1 }));
      all.schema.splice(1, 0, ...groups);
    });
    await damaged(deep, /the schema is nested more than 32 deep/);
    const names = Array.from({ length: 10_100 }, (_, i) => `c${i}`);
    const wide = tableBytes([date, ...names.map((name) => column({ name, ...DOUBLES }, [1, 2, 3]))]);
    await refused(wide, "too_large", /more than 10000 columns/, "prices");
    await damaged(
      changed((all) => {
        chunkOf(all).type = "FLOAT";
      }),
      /another column in place of "x"/,
    );
    await damaged(
      changed((all) => {
        all.row_groups[0]!.columns[0]!.file_path = "other.parquet";
      }),
      /column "x" is in another file/,
    );
  });

  it("is refused for an unknown compression, by its name", async () => {
    await damaged(
      changed((all) => {
        chunkOf(all).codec = "BROTLI";
      }),
      /column "x" is compressed with BROTLI; UNCOMPRESSED, SNAPPY, GZIP and ZSTD can be read/,
    );
  });

  it("is refused over the limit of values, even if it has dates and tickers only", async () => {
    const rows = 2n ** 24n;
    const groups = 2 ** 7 + 1;
    const endless = withMetadata(tableBytes([ticker, date], { codec: "UNCOMPRESSED" }), (all) => {
      const [group] = all.row_groups;
      group!.num_rows = rows;
      for (const { meta_data } of group!.columns) {
        meta_data!.num_values = rows;
        meta_data!.total_compressed_size = 0n;
      }
      all.row_groups = Array.from({ length: groups }, () => group!);
      all.num_rows = rows * BigInt(groups);
    });
    await refused(endless, "too_large", /the table has more than 2147483648 values, columns times rows/);
    const reading = { source: "t.parquet", tickers: new Set<string>() } as Reading;
    const found = { ticker: "A", offset: 0, columns: [], n: 2 ** 27 + 1 };
    assert.throws(() => claimTicker(reading, found), { code: "too_large", message: /134217728 values/ });
  });

  it("is refused over the limits of a blob", async () => {
    const limits = { ...DEFAULT_BLOB_LIMITS, tickers: 1 };
    await assert.rejects(read(GOOD, "features", limits), {
      code: "too_large",
      message: /"B" is one more than the 1 tickers/,
    });
    const long = tableBytes([{ ...ticker, data: ["A".repeat(257), "B", "C"] }, date, value]);
    await refused(long, "too_large", /the 256 bytes of a name/);
  });
});

/** A data page of version 1 with three values of x. */
function page(
  body: Uint8Array,
  header: Partial<CraftedPage["header"]> & { encoding?: string; count?: number } = {},
): CraftedPage {
  const { encoding = "PLAIN", count = 3, ...others } = header;
  const levels = { definition_level_encoding: "RLE", repetition_level_encoding: "RLE" } as const;
  return {
    body,
    header: {
      type: "DATA_PAGE",
      uncompressed_page_size: body.length,
      compressed_page_size: body.length,
      data_page_header: { num_values: count, encoding, ...levels },
      ...others,
    } as CraftedPage["header"],
  };
}

const THREE = new Uint8Array(Float64Array.of(5, 6, 7).buffer);
const dictionary = (count = 3): CraftedPage =>
  page(THREE, {
    type: "DICTIONARY_PAGE",
    dictionary_page_header: { num_values: count, encoding: "PLAIN" } as never,
  });

describe("a Parquet table with hostile pages", () => {
  it("is read if its pages are whole", async () => {
    assert.deepEqual(await read(withPages(GOOD, [page(THREE)])), { A: [5, 6], B: [7] });
    const indices = page(Uint8Array.of(2, 6, 1), { encoding: "RLE_DICTIONARY" });
    assert.deepEqual(await read(withPages(GOOD, [dictionary(), indices])), { A: [6, 6], B: [6] });
  });

  it("is refused if a page ends early, or has fewer or more values than rows", async () => {
    await damaged(withPages(GOOD, [page(THREE.subarray(1))]), /column "x" ends in the middle of a value/);
    await damaged(
      withPages(GOOD, [page(THREE, { compressed_page_size: 10_000 })]),
      /a page that ends beyond its column/,
    );
    await damaged(
      withPages(GOOD, [page(THREE, { compressed_page_size: -1 })]),
      /a page that ends beyond its column/,
    );
    await damaged(
      withPages(GOOD, [page(THREE, { count: 2 })]),
      /column "x" has 2 values in a row group of 3 rows/,
    );
    await damaged(withPages(GOOD, [page(THREE, { count: -3 })]), /more values than the 3 rows/);
    await damaged(withPages(GOOD, [page(THREE, { count: 2_000_000_000 })]), /more values than the 3 rows/);
    await damaged(
      withPages(GOOD, [page(THREE, { uncompressed_page_size: 2_000 })]),
      /a page of 24 bytes that declares 2000/,
    );
    await damaged(withPages(GOOD, [page(THREE, { crc: 7 })]), /checksum differs/);
  });

  it("is refused if an index is beyond the dictionary, or there is none", async () => {
    const beyond = page(Uint8Array.of(2, 6, 3), { encoding: "RLE_DICTIONARY" });
    await damaged(withPages(GOOD, [dictionary(), beyond]), /the index 3 into a dictionary of 3 values/);
    await damaged(withPages(GOOD, [beyond]), /RLE_DICTIONARY without a dictionary/);
    await damaged(withPages(GOOD, [dictionary(), dictionary(), beyond]), /two dictionaries/);
    await damaged(withPages(GOOD, [dictionary(2_000_000_000), beyond]), /ends in the middle of a value/);
    const wide = page(Uint8Array.of(60, 6, 3), { encoding: "RLE_DICTIONARY" });
    await damaged(withPages(GOOD, [dictionary(), wide]), /packs values in 60 bits/);
    const empty = page(Uint8Array.of(2, 0, 3), { encoding: "RLE_DICTIONARY" });
    await damaged(withPages(GOOD, [dictionary(), empty]), /an empty run/);
  });

  it("keeps to its rows if a run claims more", async () => {
    // A run of 2^28 - 1 values, in five bytes.
    const run = page(Uint8Array.of(2, 0xfe, 0xff, 0xff, 0xff, 0x01, 1), { encoding: "RLE_DICTIONARY" });
    assert.deepEqual(await read(withPages(GOOD, [dictionary(), run])), { A: [6, 6], B: [6] });
  });

  it("is refused for an unknown encoding, by its name and column", async () => {
    const what = /column "x" has the type DOUBLE in the encoding DELTA_BINARY_PACKED, which cannot be read/;
    await damaged(withPages(GOOD, [page(THREE, { encoding: "DELTA_BINARY_PACKED" })]), what);
  });

  it("uses at most the memory that a page declares, even if its bytes decompress to more", async () => {
    const zeros = new Uint8Array(64 * 2 ** 20);
    const bombs = { GZIP: zlib.gzipSync(zeros), ZSTD: zlib.zstdCompressSync(zeros) };
    for (const [codec, bytes] of Object.entries(bombs)) {
      const bomb = page(bytes, { uncompressed_page_size: 24 });
      await damaged(withPages(GOOD, [bomb], codec as keyof typeof bombs), /does not decompress to 24 bytes/);
      const large = page(bytes, { uncompressed_page_size: 2_000_000_000 });
      await refused(
        withPages(GOOD, [large], codec as keyof typeof bombs),
        "too_large",
        /a page of more than 268435456 bytes/,
      );
    }
  });

  it("is refused for a snappy block that is damaged or of another length", async () => {
    const literal = [24, 23 << 2, ...THREE];
    assert.deepEqual(await read(withPages(GOOD, [snappy(literal)], "SNAPPY")), { A: [5, 6], B: [7] });
    await damaged(withPages(GOOD, [snappy([25, ...literal.slice(1)])], "SNAPPY"), /does not hold 24 bytes/);
    await damaged(withPages(GOOD, [snappy([24, 99 << 2, ...THREE])], "SNAPPY"), /damaged/);
    // A copy from before the first byte.
    await damaged(withPages(GOOD, [snappy([24, 0b101, 1])], "SNAPPY"), /damaged/);
    await damaged(withPages(GOOD, [snappy([24])], "SNAPPY"), /damaged/);
  });
});

function snappy(bytes: readonly number[]): CraftedPage {
  return page(Uint8Array.from(bytes), { uncompressed_page_size: 24 });
}

describe("the columns of a Parquet table", () => {
  const text = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;
  const invalid = (columns: readonly Column[], message: RegExp, kind?: BlobKind) =>
    refused(tableBytes(columns), "invalid_data", message, kind);

  it("must include dates, and for features tickers", async () => {
    await invalid([ticker, value], /the table has no column of dates/);
    await invalid([date, value], /the table has no column of tickers/);
    const two = column({ name: "Symbol", ...text }, ["A", "A", "B"]);
    await invalid([ticker, two, date, value], /two columns of tickers, "ticker" and "Symbol"/);
  });

  it("must be numbers, for prices only the one that is read", async () => {
    const sector = column({ name: "sector", ...text }, ["a", "b", "c"]);
    const flag = column({ name: "flag", type: "BOOLEAN" }, [true, false, true]);
    await invalid(
      [ticker, date, value, sector],
      /the column "sector" is of type text; float, double, int32 or int64 is expected/,
    );
    await invalid([ticker, date, value, flag], /the column "flag" is of type boolean/);
    const close = column({ name: "Close", ...DOUBLES }, [10, 11, 12]);
    const adjusted = column({ name: "Adj Close", ...DOUBLES }, [1, 2, 3]);
    assert.deepEqual(await read(tableBytes([ticker, date, close, sector, adjusted]), "prices"), {
      A: [1, 2],
      B: [3],
    });
    await invalid(
      [ticker, date, value],
      /no price column; one of adj_close, close, price is expected/,
      "prices",
    );
    await invalid([date, close], /the fields of one security \("Close"\)/, "prices");
    await invalid(
      [ticker, date, close, column({ name: "close", ...DOUBLES }, [1, 1, 1])],
      /two columns "Close" and "close" for one price/,
      "prices",
    );
  });

  it("must have valid dates, each once per ticker", async () => {
    const dates = (data: readonly unknown[], element: Omit<Column["element"], "name">) =>
      column({ name: "date", ...element }, data);
    const utc = {
      type: "INT64",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    } as const;
    const local = { ...utc, logical_type: { ...utc.logical_type, isAdjustedToUTC: false } } as const;
    const midnight = [0n, 1n, 2n].map((day) => (18_000n + day) * 86_400_000_000n);
    const noon = midnight.map((time) => time + 43_200_000_000n);
    for (const type of [local, utc]) {
      assert.deepEqual(await read(tableBytes([ticker, dates(midnight, type), value])), { A: [1, 2], B: [3] });
      await invalid(
        [ticker, dates(noon, type), value],
        /"date"\[0\] is 1555243200000000 us since 1970, which is not midnight in its own zone/,
      );
    }
    await invalid(
      [ticker, dates(["2020-01-02", "2020-02-30", "2020-01-02"], text), value],
      /"date"\[1\] is "2020-02-30", which is not a date/,
    );
    await invalid(
      [ticker, dates([18_000, 18_000, 18_000], { type: "INT32", converted_type: "DATE" }), value],
      /"A" has the date 2019-04-14 twice/,
    );
    await invalid(
      [ticker, dates([20_200_102n, 1n, 2n], { type: "INT64" }), value],
      /"date"\[0\] is 20200102, which is not a date: epoch milliseconds/,
    );
    const optional = { type: "INT32", converted_type: "DATE", repetition_type: "OPTIONAL" } as const;
    await invalid(
      [ticker, dates([18_000, null, 18_000], optional), value],
      /"date"\[1\] is null; a date is expected/,
    );
  });

  it("may name tickers by whole numbers", async () => {
    const numbers = column({ name: "ticker", type: "INT64" }, [7203n, 7203n, 2n ** 60n]);
    await invalid(
      [numbers, date, value],
      /"ticker"\[2\] is 1152921504606847000; a ticker is a text or a whole number up to 2\^53/,
    );
    const small = column({ name: "ticker", type: "INT32" }, [7203, 7203, 6758]);
    assert.deepEqual(await read(tableBytes([small, date, value])), { 7203: [1, 2], 6758: [3] });
  });
});
