import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { DuckDBConnection } from "@duckdb/node-api";
import { parquetReadObjects } from "hyparquet";
import { readOutput } from "../client/read-output.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import { dlText, mlText, outputDocument } from "../outputs/outputs.testing.ts";
import type { Rows } from "../tables/write-parquet.ts";
import { COLUMNS, forecastParts, forecastsCsv, forecastsParquet } from "./export-forecasts.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-csv-"));
after(() => rmSync(folder, { recursive: true }));

/** The rows of a CSV as DuckDB reads them. */
async function parse(pieces: Iterable<string>): Promise<string[][]> {
  const path = join(folder, "forecasts.csv");
  writeFileSync(path, [...pieces].join(""));
  const connection = await DuckDBConnection.create();
  const sql = `FROM read_csv('${path}', header = false, all_varchar = true, delim = ',', quote = '"')`;
  const rows = (await connection.runAndReadAll(sql)).getRows();
  return rows.map((row) => row.map((cell) => String(cell ?? "")));
}

type Row = Record<string, string | number | null>;

/** The rows of an output, one obvious line each. */
function slowRows({ forecasts, cross_validation = {} }: OutputBlob): Row[] {
  const rows: Row[] = [];
  const tickers = new Set([...Object.keys(forecasts), ...Object.keys(cross_validation)]);
  for (const ticker of [...tickers].sort()) {
    const tested = cross_validation[ticker];
    for (const [i, date] of (tested?.dates ?? []).entries()) {
      const fold = tested!.folds.findIndex(
        ({ test_start, test_end }) => test_start <= date && date <= test_end,
      );
      const [predicted, realised] = [tested!.predicted[i]!, tested!.realised[i]!];
      rows.push({
        ticker,
        date,
        part: "out_of_fold",
        fold: fold + 1,
        predicted,
        lower: null,
        upper: null,
        realised,
      });
    }
    const { dates, predicted, lower, upper, realised } = forecasts[ticker]!;
    for (const [i, date] of dates.entries()) {
      const ends = { lower: lower[i]!, upper: upper[i]! };
      rows.push({
        ticker,
        date,
        part: "score",
        fold: null,
        predicted: predicted[i]!,
        ...ends,
        realised: realised[i]!,
      });
    }
  }
  return rows;
}

/** Names that a careless file would break or change. */
const TICKERS = ['A,"B"', "=1+1", "NA", "a\nb", "é😀"];
const MARKET = { tickers: TICKERS, fitRows: 120, scoreRows: 30, config: { intervals: {} } };
const OUTPUTS: readonly (readonly [name: string, text: string])[] = [
  ["a regressor with intervals", mlText(MARKET)],
  ["a network, which has no folds", dlText({ ...MARKET, config: {} })],
  ["one forecast without a return", mlText({ tickers: ["A"], isOpen: true })],
];

function partsOf(text: string): readonly [OutputBlob, Rows[]] {
  const output = readOutput(JSON.parse(text));
  return [output, [...forecastParts(outputDocument("o", "", output))]];
}

async function parquetFile(parts: readonly Rows[]) {
  const pieces: Uint8Array[] = [];
  for await (const piece of await forecastsParquet(parts)) pieces.push(piece);
  return Uint8Array.from(Buffer.concat(pieces));
}

for (const [name, text] of OUTPUTS) {
  test(`CSV returns every number, name and date of an output: ${name}`, async () => {
    const [output, parts] = partsOf(text);
    const [header, ...lines] = await parse(forecastsCsv(parts, true));
    assert.deepEqual(
      header,
      COLUMNS.map((column) => column.name),
    );
    const value = (cell: string, i: number) => {
      if (cell === "") return null;
      return ["text", "midnight"].includes(COLUMNS[i]!.kind) ? cell : Number(cell);
    };
    const found = lines.map((line) =>
      Object.fromEntries(line.map((cell, i) => [header![i], value(cell, i)])),
    );
    assert.deepEqual(found, slowRows(output));
  });

  test(`Parquet returns the same, and the same bytes again: ${name}`, async () => {
    const [output, parts] = partsOf(text);
    const bytes = await parquetFile(parts);
    const rows = await parquetReadObjects({ file: bytes.buffer });
    const found = rows.map((row) => ({ ...row, date: (row.date as Date).toISOString().slice(0, 10) }));
    assert.deepEqual(found, slowRows(output));
    assert.deepEqual(await parquetFile(parts), bytes);
  });
}

test("a text that a spreadsheet would compute has an apostrophe in a CSV, unless it is to be raw", async () => {
  const tickers = ["+A", "-B", "=C1", "@D", "E=1", "F;=1", "\uff1dG"];
  const [, parts] = partsOf(mlText({ tickers }));
  const namesOf = async (pieces: Iterable<string>) => {
    const [, ...lines] = await parse(pieces);
    return [...new Set(lines.map(([ticker]) => ticker))];
  };
  assert.deepEqual(await namesOf(forecastsCsv(parts)), [
    "'+A",
    "'-B",
    "'=C1",
    "'@D",
    "E=1",
    "F;=1",
    "'\uff1dG",
  ]);
  assert.match([...forecastsCsv(parts)].join(""), /^"F;=1",/m);
  assert.deepEqual(await namesOf(forecastsCsv(parts, true)), tickers);
});

test("an output without forecasts gives a table without rows", async () => {
  const [, parts] = partsOf(mlText({ tickers: [] }));
  assert.equal([...forecastsCsv(parts)].join(""), `${COLUMNS.map(({ name }) => name).join(",")}\n`);
  assert.deepEqual(await parquetReadObjects({ file: (await parquetFile(parts)).buffer }), []);
});
