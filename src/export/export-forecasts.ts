import { basename, dirname, extname } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ByteWriter, type ColumnSource, parquetWrite } from "hyparquet-writer";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import type { Content } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import { openDocument, type Reading } from "../outputs/open-document.ts";
import { COLUMNS, type Column, type ColumnKind } from "./columns.ts";
import { type ForecastPart, forecastParts } from "./forecast-parts.ts";

export interface TableOptions {
  /** CSV: keeps texts that begin as formulas do; a spreadsheet would compute them. */
  readonly isRaw?: boolean;
}

/** The writer for each file extension. The Parquet writer is loaded on demand. */
const FORMATS: Readonly<
  Record<string, (parts: readonly ForecastPart[], options: TableOptions) => Promise<Content>>
> = {
  ".csv": async (parts, options) => forecastsCsv(parts, options),
  ".parquet": async (parts) => (await import("./export-forecasts.ts")).forecastsParquet(parts),
};

interface ExportRequest extends TableOptions {
  /** The output of a job: a path, a file: URL or an https URL. */
  readonly output: string;
  /** The path of the file; its extension selects the format, and an existing file is replaced. */
  readonly out: string;
}

/**
 * Writes the forecasts of an output as a table with one forecast per row.
 * @returns the number of rows.
 * @throws MucastError invalid_request for another extension; of reading the output; invalid_data, output_failed.
 */
export async function exportForecasts(
  { output, out, ...options }: ExportRequest,
  reading: Reading,
): Promise<number> {
  const extension = extname(out).toLowerCase();
  const format = Object.hasOwn(FORMATS, extension) ? FORMATS[extension] : undefined;
  if (format === undefined) {
    const message = `--out must end with ${Object.keys(FORMATS).join(" or ")}, which says the format, got ${JSON.stringify(out)}`;
    throw new MucastError("invalid_request", message, { path: "--out", value: out });
  }
  const parts = [...forecastParts(await openDocument(output, reading))];
  const { signal } = reading;
  const content = await format(parts, options);
  await replaceByStaged(await stageFile(dirname(out), basename(out), content, { signal, shown: out }));
  return rowCount(parts);
}

/**
 * Writes the same table as CSV to a stream, which stays open.
 * @returns the number of rows.
 * @throws MucastError of reading the output; invalid_data. Errors of the stream.
 */
export async function streamForecasts(
  output: string,
  to: Writable,
  reading: Reading,
  options: TableOptions = {},
): Promise<number> {
  const parts = [...forecastParts(await openDocument(output, reading))];
  await pipeline(forecastsCsv(parts, options), to, {
    end: false,
    ...(reading.signal && { signal: reading.signal }),
  });
  return rowCount(parts);
}

function rowCount(parts: readonly ForecastPart[]): number {
  return parts.reduce((rows, { days }) => rows + days.length, 0);
}

/**
 * The forecasts as CSV (RFC 4180, lines end with LF): a header, then one line per row. Numbers have the fewest digits that give the
 * same float64 back, dates are YYYY-MM-DD, and missing values are empty. A text that a spreadsheet would take for a formula, such as a ticker
 * "=A1", gets an apostrophe in front. Yields one piece of text per part.
 */
export function* forecastsCsv(
  parts: Iterable<ForecastPart>,
  { isRaw = false }: TableOptions = {},
): Generator<string> {
  yield `${COLUMNS.map(({ name }) => name).join(",")}\n`;
  for (const part of parts) {
    let text = "";
    for (let row = 0; row < part.days.length; row++) {
      text += `${COLUMNS.map((column) => cell(column, part, row, isRaw)).join(",")}\n`;
    }
    if (text !== "") yield text;
  }
}

function cell(column: Column, part: ForecastPart, row: number, isRaw: boolean): string {
  const value = column.of(part, row);
  if (value === undefined || Number.isNaN(value)) return "";
  switch (column.kind) {
    case "text":
      return isRaw ? quoted(value as string) : csvCell(value as string);
    case "date":
      return formatDay(value as number);
    case "integer":
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    default:
      return column satisfies never;
  }
}

/** A text as a cell that no spreadsheet takes for a formula. */
export function csvCell(text: string): string {
  return quoted(/^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text);
}

function quoted(text: string): string {
  // A spreadsheet may take a semicolon or a tab for the end of the cell, and what follows for a formula.
  return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

type SchemaElement = NonNullable<Parameters<typeof parquetWrite>[0]["schema"]>[number];

/**
 * How Parquet stores a kind of value. Dates are timestamps of midnight without a time zone, because pandas reads these as datetime64 and
 * DATE as Python objects.
 */
const ELEMENTS: Readonly<Record<ColumnKind, Omit<SchemaElement, "name">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  date: { type: "INT64", logical_type: { type: "TIMESTAMP", isAdjustedToUTC: false, unit: "MILLIS" } },
  integer: { type: "INT32" },
  number: { type: "DOUBLE" },
};

const ROW_GROUP = 100_000;

/** The forecasts as one Parquet file, compressed with Snappy. Missing values are null. The same forecasts give the same bytes. */
export async function forecastsParquet(parts: readonly ForecastPart[]): Promise<Uint8Array> {
  const writer = new ByteWriter();
  const leaves = COLUMNS.map(({ name, kind }) => ({
    name,
    ...ELEMENTS[kind],
    repetition_type: "OPTIONAL" as const,
  }));
  await parquetWrite({
    writer,
    columnData: COLUMNS.map((column) => columnSource(column, parts)),
    schema: [{ name: "forecasts", num_children: leaves.length }, ...leaves],
    rowGroupSize: ROW_GROUP,
    createdBy: `mucast version ${MUCAST_VERSION}`,
  });
  return writer.getBytes();
}

function columnSource(column: Column, parts: readonly ForecastPart[]): ColumnSource {
  const data: (string | number | bigint | null)[] = [];
  for (const part of parts) {
    for (let row = 0; row < part.days.length; row++) {
      const value = column.of(part, row);
      data.push(value === undefined || Number.isNaN(value) ? null : stored(value, column.kind));
    }
  }
  return { name: column.name, data };
}

const MS_PER_DAY = 86_400_000;

function stored(value: string | number, kind: ColumnKind): string | number | bigint {
  return kind === "date" ? BigInt(value) * BigInt(MS_PER_DAY) : value;
}
