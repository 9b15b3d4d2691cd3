import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parquetWriteBuffer } from "hyparquet-writer";
import { formatDay } from "../contract/market/dates.ts";
import { jsonRecords, readBytes, readTwin } from "./table-twin.testing.ts";

const TABLES = fileURLToPath(new URL("../../test/tables/", import.meta.url));
const workFolder = await mkdtemp(join(tmpdir(), "mucast-tables-"));
after(() => rm(workFolder, { recursive: true }));

const tableNames = (await readdir(TABLES))
  .filter((name) => name.endsWith(".parquet"))
  .map((name) => name.slice(0, -".parquet".length));
const bytesOf = (name: string) => readFile(join(TABLES, `${name}.parquet`));
const read = async (name: string, kind: "features" | "prices" = "features") =>
  readBytes(kind, await bytesOf(name), workFolder);

/** What the twin calls the columns of an index. */
const RENAMES: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  "pandas-unnamed-index": { __index_level_0__: "date" },
  "pandas-row-labels": { __index_level_0__: undefined },
};

describe("a Parquet table of features", () => {
  const others = ["pandas-wide-prices", "split-integers"];
  for (const name of tableNames.filter((each) => !others.includes(each))) {
    it(`as ${name} is read like its records in JSON`, async () => {
      const twin = await readTwin("features", await bytesOf(name), workFolder, RENAMES[name]);
      assert.deepEqual((await read(name)).tickers, twin.tickers);
      assert.deepEqual(await readdir(workFolder), []);
    });
  }

  it("is refused by the name of an encoding that DuckDB does not read", async () => {
    await assert.rejects(read("split-integers"), { code: "unreadable_blob", message: /BYTE_STREAM_SPLIT/ });
  });

  it("is refused if a name comes twice", async () => {
    const data = { ticker: ["A"], date: ["2020-01-02"], x: [1] };
    const columnData = Object.entries({ ...data, y: [2] }).map(([name, values]) => ({
      name: name === "y" ? "x" : name,
      data: values,
    }));
    const bytes = new Uint8Array(parquetWriteBuffer({ columnData }));
    await assert.rejects(readBytes("features", bytes, workFolder), { message: /two columns "x"/ });
  });

  it("has the same tickers in the same order, wherever its bytes are cut", async () => {
    const whole = await read("pandas");
    const cut = await readBytes("features", await bytesOf("pandas"), workFolder, [1, 700]);
    assert.deepEqual(cut, whole);
    assert.deepEqual(whole.tickers.map(({ ticker }) => ticker).sort(), ["AAPL", "BRK.B", "MSFT", "É"]);
  });
});

describe("a Parquet table of prices", () => {
  it("may have a column per ticker, and a window in the attributes of its DataFrame", async () => {
    const { tickers, window } = await read("pandas-wide-prices", "prices");
    const records = JSON.parse(await jsonRecords(await bytesOf("pandas-wide-prices"))) as Record<
      string,
      unknown
    >[];
    assert.deepEqual(
      tickers.map(({ ticker }) => ticker),
      ["AAPL", "BRK.B", "MSFT", "É"],
    );
    for (const { ticker, days, columns, values } of tickers) {
      assert.deepEqual(columns, ["price"]);
      assert.deepEqual(
        Array.from(days, formatDay),
        records.map(({ date }) => String(date).slice(0, 10)),
      );
      assert.deepEqual(
        [...values],
        records.map((record) => record[ticker] ?? Number.NaN),
      );
    }
    assert.deepEqual(Object.keys(window), ["learningEnd"]);
    assert.equal(formatDay(window.learningEnd!), "2020-02-10");
  });

  it("may have a window in its metadata", async () => {
    const text = (await readFile(join(TABLES, "polars.parquet"))).toString("latin1");
    const bytes = Buffer.from(text.replaceAll("mom_5", "price"), "latin1");
    const { tickers, window } = await readBytes("prices", bytes, workFolder);
    assert.deepEqual(
      [formatDay(window.start!), formatDay(window.learningEnd!)],
      ["2020-01-10", "2020-02-10"],
    );
    const twin = await readTwin("prices", bytes, workFolder);
    assert.deepEqual(
      tickers.map(({ ticker, days, values }) => ({ ticker, days, values })),
      twin.tickers.map(({ ticker, days, values }) => ({ ticker, days, values })),
    );
  });
});
