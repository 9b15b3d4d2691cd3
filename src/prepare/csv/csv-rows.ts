import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { openBlob } from "../../blob/open-blob.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { cut } from "../../contract/errors/faults.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { FileLimits } from "../file-limits.ts";
import { checkCsv } from "./other-formats.ts";

export interface CsvRow {
  readonly cells: readonly string[];
  readonly line: number;
}

const DELIMITERS = [",", ";", "\t", "|"];

/**
 * The records of a local CSV, gzip or not. The delimiter is the most frequent one in the header: comma, semicolon, tab or bar. Fields may
 * be quoted, lines may have any line ending, and a byte order mark is skipped. Cells are trimmed, and empty lines are dropped.
 */
export async function* csvRows(
  path: string,
  signal?: AbortSignal,
  { csvBytes, onBytes }: FileLimits = {},
): AsyncGenerator<CsvRow> {
  const blob = await openBlob(
    path,
    { allowed: [] },
    {
      ...(signal ? { signal } : {}),
      ...(csvBytes === undefined ? {} : { limits: { maxBytes: csvBytes } }),
    },
  );
  const text = decoded(blob.chunks, path, onBytes);
  const first = await text.next();
  const head = first.done ? "" : first.value;
  const parser = parse({
    delimiter: delimiterOf(head),
    bom: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: 2 ** 24,
  });
  const source = Readable.from(rejoined(head, text));
  source.once("error", (error) => parser.destroy(error));
  source.pipe(parser);
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      if (record.some((cell) => cell !== "")) yield { cells: record, line: info.lines };
    }
  } catch (error) {
    throw error instanceof CsvError ? broken(path, error) : error;
  } finally {
    source.destroy();
  }
}

/** Refuses a row with more or fewer cells than the header, which is shifted or cut off. */
export function checkWidth(row: CsvRow, width: number, path: string): void {
  const surplus = row.cells.slice(width).some((cell) => cell !== "");
  if (row.cells.length >= width && !surplus) return;
  const message = `line ${row.line} has ${counted(row.cells.length, "cell")}, the header has ${width}`;
  throw new MucastError("invalid_data", `${path}: ${message}`, { source: path, line: row.line });
}

async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  onBytes: FileLimits["onBytes"],
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let isChecked = false;
  try {
    for await (const chunk of chunks) {
      if (!isChecked) checkCsv(chunk, path);
      isChecked = true;
      onBytes?.(chunk.length);
      yield decoder.decode(chunk, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    if (error instanceof MucastError) throw error;
    throw new MucastError("invalid_data", `${path} is not UTF-8 text; save it as UTF-8`, { source: path });
  }
}

async function* rejoined(head: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield head;
  yield* rest;
}

function delimiterOf(head: string): string {
  const header = head.split(/[\r\n]/, 1)[0]!.replaceAll(/"[^"]*"/g, "");
  const counts = DELIMITERS.map((delimiter) => header.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}

/** Maximum length of the parser's message, which may quote a cell. */
const MAX_QUOTED_LENGTH = 300;

export function emptyTable(path: string, what: string): MucastError {
  const advice = "Write the file again: a header, and below it rows with values.";
  return new MucastError("invalid_data", `${path} ${what}`, { source: path, advice });
}

function broken(path: string, error: CsvError): MucastError {
  const line = Number((error as CsvError & { lines?: number }).lines);
  const message = cut(error.message, MAX_QUOTED_LENGTH);
  return new MucastError("invalid_data", `${path}: line ${line}: ${message}`, { source: path, line });
}
