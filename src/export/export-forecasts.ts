import { basename, dirname } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import { type OutputDocument, openDocument, type Reading } from "../outputs/open-document.ts";
import type { Rows } from "../tables/write-parquet.ts";

/** Every column, in the order of the file. docs/output.md has a line for each, as a test checks. */
export const COLUMNS = [
  { name: "ticker", kind: "text" },
  // pandas reads timestamps as datetime64, and days as Python objects.
  { name: "date", kind: "midnight" },
  { name: "part", kind: "text" },
  { name: "fold", kind: "integer" },
  { name: "predicted", kind: "double" },
  { name: "lower", kind: "double" },
  { name: "upper", kind: "double" },
  { name: "realised", kind: "double" },
] as const;

interface ExportRequest {
  /** The output of a job: a path, a file: URL or an https URL. */
  readonly output: string;
  /** The path of the file; its extension selects the format, and an existing file is replaced. Or a stream, which gets CSV and stays open. */
  readonly out: string | Writable;
  /** CSV: keeps texts that begin as formulas do; a spreadsheet would compute them. */
  readonly isRaw?: boolean;
}

/**
 * Writes the forecasts of an output as a table with one forecast per row.
 * @returns the number of rows.
 * @throws MucastError invalid_request for another extension; of reading the output; invalid_data, output_failed. Errors of the stream.
 */
export async function exportForecasts(
  { output, out, isRaw }: ExportRequest,
  reading: Reading,
): Promise<number> {
  const isParquet = typeof out === "string" && /\.parquet$/i.test(out);
  if (typeof out === "string" && !isParquet && !/\.csv$/i.test(out)) {
    const message = `--out must end with .csv or .parquet, which says the format, got ${JSON.stringify(out)}`;
    throw new MucastError("invalid_request", message, { path: "--out", value: out });
  }
  const { signal } = reading;
  const parts = [...forecastParts(await openDocument(output, reading))];
  const content = isParquet ? await forecastsParquet(parts) : forecastsCsv(parts, isRaw);
  if (typeof out === "string")
    await replaceByStaged(await stageFile(dirname(out), basename(out), content, { signal, shown: out }));
  else await pipeline(content, out, { end: false, ...(signal && { signal }) });
  return parts.reduce((rows, { count }) => rows + count, 0);
}

/**
 * All forecasts of an output as values of COLUMNS: tickers ascending by code point, for each ticker first the folds in time order, then the
 * score rows.
 * @throws MucastError invalid_data if the folds of a ticker do not add up to its rows.
 */
export function* forecastParts(output: OutputDocument): Generator<Rows> {
  const { rows, outOfFold = [] } = output;
  const tested = new Map(outOfFold.map((row) => [row.ticker, row]));
  const scored = new Map(rows.map((row) => [row.ticker, row]));
  for (const ticker of [...new Set([...tested.keys(), ...scored.keys()])].sort(compareCodePoints)) {
    const test = tested.get(ticker);
    for (const { number, from, to } of test?.folds ?? []) {
      const { days, predicted, realised } = test!;
      const [low, fold] = [constant(to - from, Number.NaN), constant(to - from, number)];
      const numbers = [fold, predicted.subarray(from, to), low, low, realised.subarray(from, to)];
      yield { count: to - from, values: [ticker, days.subarray(from, to), "out_of_fold", ...numbers] };
    }
    const score = scored.get(ticker);
    if (score === undefined) continue;
    const { days, predicted, lower, upper, realised } = score;
    const fold = constant(days.length, Number.NaN);
    yield { count: days.length, values: [ticker, days, "score", fold, predicted, lower, upper, realised] };
  }
}

function constant(count: number, value: number): Float64Array {
  return new Float64Array(count).fill(value);
}

/**
 * The forecasts as CSV (RFC 4180, lines end with LF): a header, then one line per row. Numbers have the fewest digits that give the
 * same float64 back, dates are YYYY-MM-DD, and missing values are empty. A text that a spreadsheet would take for a formula, such as a ticker
 * "=A1", gets an apostrophe in front. Yields one piece of text per part.
 */
export function* forecastsCsv(parts: Iterable<Rows>, isRaw = false): Generator<string> {
  yield `${COLUMNS.map(({ name }) => name).join(",")}\n`;
  for (const { count, values } of parts) {
    let text = "";
    const cells = values.map((column) =>
      typeof column === "string" ? (isRaw ? quoted(column) : csvCell(column)) : column,
    );
    for (let row = 0; row < count; row++) {
      const line = cells.map((column, c) => {
        if (typeof column === "string") return column;
        const value = column[row]!;
        if (COLUMNS[c]!.kind === "midnight") return formatDay(value);
        if (Number.isNaN(value)) return "";
        return Object.is(value, -0) ? "-0" : String(value);
      });
      text += `${line.join(",")}\n`;
    }
    if (text !== "") yield text;
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

/** The forecasts as one Parquet file. Missing values are null. The same forecasts give the same bytes. */
export async function forecastsParquet(parts: readonly Rows[]): Promise<AsyncGenerator<Uint8Array>> {
  // Only an export to Parquet loads DuckDB.
  const { parquetBytes } = await import("../tables/write-parquet.ts");
  return parquetBytes(
    { columns: COLUMNS, compression: "snappy", metadata: { mucast: MUCAST_VERSION } },
    parts,
  );
}
