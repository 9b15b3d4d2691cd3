import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  DATE,
  DOUBLE,
  DuckDBDataChunk,
  type DuckDBType,
  FLOAT,
  INTEGER,
  TIMESTAMP_MS,
  VARCHAR,
} from "@duckdb/node-api";
import { MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import { nameLiteral, Tables, textLiteral } from "./duckdb.ts";

/** How the values of a column are written. A day is a DATE, or a timestamp of its midnight without a time zone. */
export type ValueKind = "text" | "day" | "midnight" | "integer" | "float" | "double";

const TYPES: Readonly<Record<ValueKind, DuckDBType>> = {
  text: VARCHAR,
  day: DATE,
  midnight: TIMESTAMP_MS,
  integer: INTEGER,
  float: FLOAT,
  double: DOUBLE,
};

export interface ParquetTable {
  readonly columns: readonly { readonly name: string; readonly kind: ValueKind }[];
  readonly compression: "snappy" | "zstd";
  readonly metadata: Readonly<Record<string, string>>;
}

/** Rows, column by column: text repeated for all of them or per row, days or numbers, NaN for a missing one. */
export type Rows = { readonly count: number; readonly values: readonly (string | ArrayLike<number>)[] };

/** Rows of a chunk of DuckDB. */
const CHUNK_ROWS = 2_048;

/** The bytes of a Parquet file, in pieces. They depend only on the table and on the version of DuckDB. Missing values are null. */
export async function* parquetBytes(table: ParquetTable, parts: Iterable<Rows>): AsyncGenerator<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "mucast-table-"));
  try {
    const path = join(folder, "table.parquet");
    const tables = await Tables.open([path], folder);
    try {
      await fill(tables, table, parts);
      await tables.connection.run(copyStatement(table, path));
    } finally {
      tables.close();
    }
    yield* createReadStream(path, { highWaterMark: 2 ** 20 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fill({ connection }: Tables, { columns }: ParquetTable, parts: Iterable<Rows>): Promise<void> {
  const types = columns.map(({ kind }) => TYPES[kind]);
  await connection.run(`CREATE TABLE t (${types.map((type, j) => `c${j} ${type}`).join(", ")})`);
  const appender = await connection.createAppender("t");
  for (const { count, values } of parts) {
    for (let from = 0; from < count; from += CHUNK_ROWS) {
      const rows = Math.min(CHUNK_ROWS, count - from);
      const chunk = DuckDBDataChunk.create(types, rows);
      for (const [j, column] of values.entries()) {
        const vector = chunk.getColumnVector(j);
        if (typeof column === "string") for (let i = 0; i < rows; i++) vector.setItem(i, column);
        else
          copy(column, from, rows, (vector as unknown as { readonly items: Items }).items, columns[j]!.kind);
        vector.flush();
      }
      appender.appendDataChunk(chunk);
    }
  }
  appender.closeSync();
}

type Items = Int32Array | BigInt64Array | Float32Array | Float64Array;

function copy(from: ArrayLike<number>, start: number, rows: number, into: Items, kind: ValueKind): void {
  for (let i = 0; i < rows; i++) {
    const value = from[start + i]!;
    if (into instanceof BigInt64Array) into[i] = BigInt(value * MILLISECONDS_PER_DAY);
    else into[i] = kind === "integer" && Number.isNaN(value) ? MISSING_INTEGER : value;
  }
}

const MISSING_INTEGER = -(2 ** 31);

/** Numbers that are missing become null on the way. */
function copyStatement({ columns, compression, metadata }: ParquetTable, path: string): string {
  const select = columns.map(({ name, kind }, j) => {
    if (kind === "float" || kind === "double")
      return `CASE WHEN isfinite(c${j}) THEN c${j} END AS ${nameLiteral(name)}`;
    return `${kind === "integer" ? `nullif(c${j}, ${MISSING_INTEGER})` : `c${j}`} AS ${nameLiteral(name)}`;
  });
  const entries = Object.entries(metadata).map(
    ([key, value]) => `${nameLiteral(key)}: ${textLiteral(value)}`,
  );
  const keyValues = entries.length === 0 ? "" : `, KV_METADATA {${entries.join(", ")}}`;
  return `COPY (SELECT ${select.join(", ")} FROM t) TO ${textLiteral(path)} (FORMAT parquet, COMPRESSION ${compression}${keyValues})`;
}
