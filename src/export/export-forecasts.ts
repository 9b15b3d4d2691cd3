import { basename, dirname, extname } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import type { Content } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import { openDocument, type Reading } from "../outputs/open-document.ts";
import { parquetBytes, type Rows, type ValueKind } from "../tables/write-parquet.ts";
import { COLUMNS, type Column } from "./columns.ts";
import { type ForecastPart, forecastParts } from "./forecast-parts.ts";

export interface TableOptions {
  /** CSV: keeps texts that begin as formulas do; a spreadsheet would compute them. */
  readonly isRaw?: boolean;
}

/** The writer for each file extension. */
const FORMATS: Readonly<Record<string, (parts: readonly ForecastPart[], options: TableOptions) => Content>> =
  { ".csv": forecastsCsv, ".parquet": forecastsParquet };

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
  const content = format(parts, options);
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

/** Dates are midnights, because pandas reads these as datetime64 and days as Python objects. */
const KINDS: Readonly<Record<Column["kind"], ValueKind>> = {
  text: "text",
  date: "midnight",
  integer: "integer",
  number: "double",
};

/** The forecasts as one Parquet file that any reader reads. The same forecasts give the same bytes. */
export function forecastsParquet(parts: Iterable<ForecastPart>): AsyncGenerator<Uint8Array> {
  const columns = COLUMNS.map(({ name, kind }) => ({ name, kind: KINDS[kind] }));
  return parquetBytes({ columns, compression: "snappy", version: "v1", metadata: {} }, rowsOf(parts));
}

function* rowsOf(parts: Iterable<ForecastPart>): Generator<Rows> {
  for (const part of parts) {
    const count = part.days.length;
    const values = COLUMNS.map((column) =>
      column.kind === "text"
        ? column.of(part)
        : Float64Array.from({ length: count }, (_, row) => column.of(part, row) ?? Number.NaN),
    );
    yield { count, values };
  }
}
