import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import {
  DATE,
  DOUBLE,
  type DuckDBDataChunk,
  DuckDBTableFunction,
  type DuckDBType,
  FLOAT,
  INTEGER,
  TIMESTAMP_MS,
  VARCHAR,
  version,
} from "@duckdb/node-api";
import { MucastError } from "../contract/errors/errors.ts";
import { workFolderError } from "../contract/errors/system-error.ts";
import { MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import { nameLiteral, openPrivateFile, openTables, textLiteral } from "./duckdb.ts";

/** How the values of a column are written. A day is a DATE, or a timestamp of its midnight without a time zone. */
type ValueKind = "text" | "day" | "midnight" | "integer" | "float" | "double";

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

/** Rows, column by column: text repeated for all of them, days, or numbers; NaN for a missing one. */
export type Rows = { readonly count: number; readonly values: readonly (string | ArrayLike<number>)[] };

/** Rows of a chunk of DuckDB. */
const CHUNK_ROWS = 2_048;
/** Values of a row group, which are in memory until it is complete: 32 MiB, unless a table has more than 2,048 columns. */
const GROUP_VALUES = 2 ** 22;
const MAX_GROUP_ROWS = 60 * CHUNK_ROWS;
/** In MiB: 10,000 columns took between 768 and 1,000 MiB in all. */
const MEMORY = 512;
const COLUMN_MEMORY = 1 / 16;

/** The bytes of the same table change only with it. */
export const PARQUET_WRITER = `duckdb ${version()}, v1`;

/** The bytes of a Parquet file, in pieces. Missing values are null. */
export async function* parquetBytes(table: ParquetTable, parts: Iterable<Rows>): AsyncGenerator<Uint8Array> {
  checkNames(table.columns);
  const file = await openPrivateFile(tmpdir());
  try {
    await write(table, parts, file.folder, file.path);
    const { descriptor: fd } = file;
    yield* createReadStream("", { fd, start: 0, autoClose: false, highWaterMark: 2 ** 20 });
  } finally {
    await file.close();
  }
}

async function write(
  table: ParquetTable,
  parts: Iterable<Rows>,
  folder: string,
  path: string,
): Promise<void> {
  const tables = await openTables([path], folder, Math.ceil(MEMORY + COLUMN_MEMORY * table.columns.length));
  const chunks = chunksOf(parts);
  let cause: unknown;
  try {
    const rows = DuckDBTableFunction.create({
      name: "rows",
      bindFunction: (info) => {
        for (const [j, { kind }] of table.columns.entries()) info.addResultColumn(`c${j}`, TYPES[kind]);
      },
      initFunction: () => undefined,
      mainFunction: (info, output) => {
        try {
          const { value } = chunks.next();
          output.rowCount = value?.count ?? 0;
          if (value !== undefined) fill(output, table, value);
        } catch (error) {
          cause = error;
          info.setError("the rows ended early");
        }
      },
    });
    tables.connection.registerTableFunction(rows);
    await tables.connection.run(copyStatement(table, path));
  } catch (error) {
    throw cause ?? (/^IO Error/.test((error as Error).message) ? workFolderError("written", error) : error);
  } finally {
    tables.close();
  }
}

interface Chunk {
  readonly count: number;
  readonly from: number;
  readonly values: Rows["values"];
}

function* chunksOf(parts: Iterable<Rows>): Generator<Chunk, undefined> {
  for (const { count, values } of parts) {
    for (let from = 0; from < count; from += CHUNK_ROWS)
      yield { from, count: Math.min(CHUNK_ROWS, count - from), values };
  }
}

function fill(output: DuckDBDataChunk, { columns }: ParquetTable, { from, count, values }: Chunk): void {
  for (const [j, column] of values.entries()) {
    const vector = output.getColumnVector(j);
    const { items } = vector as unknown as { readonly items: Float64Array | BigInt64Array };
    for (let i = 0; i < count; i++) {
      if (typeof column === "string") vector.setItem(i, column);
      else {
        // One zero: a dictionary takes -0 for 0.
        const value = (columns[j]!.kind === "float" ? Math.fround(column[from + i]!) : column[from + i]!) + 0;
        if (!Number.isFinite(value)) vector.setItem(i, null);
        else if (items instanceof BigInt64Array) items[i] = BigInt(value * MILLISECONDS_PER_DAY);
        else items[i] = value;
      }
    }
    vector.flush();
  }
}

/** @throws MucastError invalid_data for names that DuckDB would change. */
function checkNames(columns: ParquetTable["columns"]): void {
  const known = new Map<string, string>();
  for (const { name } of columns) {
    const folded = name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
    const other = known.get(folded);
    const problem =
      other === undefined
        ? "is empty or has a NUL character"
        : `differs from ${JSON.stringify(other)} in case alone`;
    if (other !== undefined || name === "" || name.includes("\0"))
      throw new MucastError("invalid_data", `the column ${JSON.stringify(name)} ${problem}`, {
        advice: "Rename the column, or write JSON: a Parquet file cannot have it.",
      });
    known.set(folded, name);
  }
}

function copyStatement({ columns, compression, metadata }: ParquetTable, path: string): string {
  const select = columns.map(({ name }, j) => `c${j} AS ${nameLiteral(name)}`);
  const group = Math.min(MAX_GROUP_ROWS, Math.max(CHUNK_ROWS, Math.floor(GROUP_VALUES / columns.length)));
  const options = [
    ...["FORMAT parquet", "USE_TMP_FILE false", `COMPRESSION ${compression}`],
    // The encodings of v2 make numbers a tenth smaller, and fastparquet cannot read them.
    ...["PARQUET_VERSION v1", `ROW_GROUP_SIZE ${group}`],
  ];
  const entries = Object.entries(metadata).map(
    ([key, value]) => `${nameLiteral(key)}: ${textLiteral(value)}`,
  );
  if (entries.length > 0) options.push(`KV_METADATA {${entries.join(", ")}}`);
  return `COPY (SELECT ${select.join(", ")} FROM rows()) TO ${textLiteral(path)} (${options.join(", ")})`;
}
