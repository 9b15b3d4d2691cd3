import zlib from "node:zlib";
import fc from "fast-check";
import { ByteWriter, type ColumnSource, parquetWrite } from "hyparquet-writer";

type Options = Parameters<typeof parquetWrite>[0];
type SchemaElement = NonNullable<Options["schema"]>[number];
type Encoding = NonNullable<ColumnSource["encoding"]>;
type Codec = NonNullable<Options["codec"]>;

/** A column as it is written. */
interface WrittenColumn {
  readonly element: SchemaElement;
  readonly encoding: Encoding;
  readonly data: readonly unknown[];
}

/** Every type of a value column, with values that are in its range. */
const NUMBERS: readonly {
  readonly element: Omit<SchemaElement, "name">;
  readonly values: fc.Arbitrary<unknown>;
  readonly encodings: readonly Encoding[];
}[] = [
  {
    element: { type: "DOUBLE" },
    values: fc.oneof(fc.double(), fc.double({ min: -1, max: 1 }), fc.constantFrom(-0, 1e308)),
    encodings: ["PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"],
  },
  {
    element: { type: "FLOAT" },
    values: fc.float(),
    encodings: ["PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"],
  },
  {
    element: { type: "INT32" },
    values: fc.integer(),
    encodings: ["PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED"],
  },
  {
    element: { type: "INT64" },
    values: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -9n, max: 9n })),
    encodings: ["PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED"],
  },
];

const DATES: typeof NUMBERS = [
  {
    element: { type: "INT32", converted_type: "DATE" },
    values: fc.integer({ min: -5000, max: 30_000 }),
    encodings: ["PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED"],
  },
  {
    element: { type: "BYTE_ARRAY", converted_type: "UTF8" },
    values: fc
      .integer({ min: 0, max: 20_000 })
      .map((day) => new Date(day * 86_400_000).toISOString().slice(0, 10)),
    encodings: ["PLAIN", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
  },
];

const TICKERS: (typeof NUMBERS)[number] = {
  element: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  values: fc.constantFrom("AAPL", "BRK.B", "É", "😀", "", "AAP", "__proto__"),
  encodings: ["PLAIN", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
};

const codec: fc.Arbitrary<Codec> = fc.constantFrom("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD");

/** A table of random types, encodings, nulls and row groups, as the bytes of a Parquet file. A date may occur twice for a ticker. */
export const randomTable: fc.Arbitrary<Uint8Array> = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 4 }), codec)
  .chain(([rows, features, compression]) =>
    fc.tuple(
      columnOf("ticker", [TICKERS], rows, false),
      columnOf("date", DATES, rows, false),
      fc.tuple(...Array.from({ length: features }, (_, j) => columnOf(`x${j}`, NUMBERS, rows, true))),
      fc.integer({ min: 1, max: 45 }),
      fc.constantFrom(8, 40, 1_000_000),
      fc.constant(compression),
    ),
  )
  .map(([ticker, date, values, rowGroupSize, pageSize, compression]) =>
    tableBytes([ticker, date, ...values], { rowGroupSize, pageSize, codec: compression }),
  );

function columnOf(
  name: string,
  types: readonly (typeof NUMBERS)[number][],
  rows: number,
  mayLack: boolean,
): fc.Arbitrary<WrittenColumn> {
  return fc
    .tuple(fc.constantFrom(...types), fc.boolean())
    .chain(([{ element, values, encodings }, isOptional]) => {
      const cell = mayLack && isOptional ? fc.option(values, { freq: 3 }) : values;
      const repetition = isOptional ? "OPTIONAL" : "REQUIRED";
      return fc.record({
        element: fc.constant({ ...element, name, repetition_type: repetition } as SchemaElement),
        encoding: fc.constantFrom(...encodings),
        data: fc.array(cell, { minLength: rows, maxLength: rows }),
      });
    });
}

/** Writes a table. */
export function tableBytes(
  columns: readonly WrittenColumn[],
  options: Pick<Options, "rowGroupSize" | "pageSize" | "codec" | "kvMetadata"> = {},
): Uint8Array {
  const writer = new ByteWriter();
  parquetWrite({
    writer,
    columnData: columns.map(({ element, encoding, data }) => ({
      name: element.name,
      data: [...data],
      encoding,
      nullable: element.repetition_type !== "REQUIRED",
    })),
    schema: [{ name: "root", num_children: columns.length }, ...columns.map(({ element }) => element)],
    compressors: { GZIP: packed(zlib.gzipSync), ZSTD: packed(zlib.zstdCompressSync) },
    ...options,
  });
  return new Uint8Array(writer.getBytes());
}

function packed(deflate: (bytes: Uint8Array) => Uint8Array) {
  return (bytes: Uint8Array) => new Uint8Array(deflate(bytes));
}
