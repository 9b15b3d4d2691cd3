/** The files and texts that test/tables/write_tables.py writes as pandas and others do, with what pandas reads from them. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { formatDay } from "../contract/market/dates.ts";
import type { BlobKind } from "./field-names.ts";
import { readBytes } from "./read-bytes.testing.ts";

interface Expected {
  /** By name, the header and rows of a table: ticker, date, values; empty if missing. */
  readonly contents: Readonly<Record<string, readonly string[]>>;
  readonly files: Readonly<Record<string, ExpectedFile>>;
  readonly texts: Readonly<Record<BlobKind, Readonly<Record<string, string>>>>;
}

interface ExpectedFile {
  readonly kind: BlobKind;
  readonly content: string;
  readonly window?: Readonly<Record<string, string>>;
  readonly code?: string;
  readonly message?: string;
}

const TABLES = fileURLToPath(new URL("../../test/tables/", import.meta.url));
const expected = JSON.parse(await readFile(join(TABLES, "expected.json"), "utf8")) as Expected;
const workFolder = await mkdtemp(join(tmpdir(), "mucast-tables-"));
after(() => rm(workFolder, { recursive: true }));

const bytesOf = (name: string) => readFile(join(TABLES, `${name}.parquet`));

async function assertContent(kind: BlobKind, bytes: Uint8Array, content: string, lengths?: number[]) {
  const [header, ...lines] = expected.contents[content]!;
  const { tickers, window } = await readBytes(kind, bytes, workFolder, lengths);
  const rows = tickers.flatMap(({ ticker, days, columns, values }) => {
    if (kind === "features") assert.equal(["ticker", "date", ...columns].join(), header);
    const cellsOf = (i: number) => columns.map((_, j) => values[j * days.length + i]!);
    return Array.from(days, (day, i) => [ticker, formatDay(day), ...cellsOf(i)]);
  });
  assert.deepEqual(
    rows,
    lines.map((line) => {
      const [ticker, date, ...cells] = line.split(",");
      return [ticker, date, ...cells.map((cell) => (cell === "" ? Number.NaN : Number(cell)))];
    }),
  );
  return window;
}

describe("a Parquet table", () => {
  for (const [name, { kind, content, window, code, message }] of Object.entries(expected.files)) {
    it(`as in ${name}.parquet is ${code === undefined ? "read as pandas reads it" : "refused"}`, async () => {
      const bytes = await bytesOf(name);
      if (code !== undefined)
        return assert.rejects(readBytes(kind, bytes, workFolder), { code, message: new RegExp(message!) });
      const { start, learningEnd } = await assertContent(kind, bytes, content);
      const found = { ...(start && { start: formatDay(start) }) };
      assert.deepEqual(
        learningEnd === undefined ? found : { ...found, Learning_end: formatDay(learningEnd) },
        window ?? {},
      );
      assert.deepEqual(await readdir(workFolder), []);
    });
  }

  it("is read wherever its bytes are cut, and refused if it ends early", async () => {
    const bytes = await bytesOf("pandas");
    await assertContent("features", bytes, "table", [1, 700]);
    for (let length = 4; length < bytes.length; length += 97)
      await assert.rejects(
        readBytes("features", bytes.subarray(0, length), workFolder),
        { code: "unreadable_blob" },
        `${length} bytes`,
      );
  });
});

describe("a text that pandas writes", () => {
  for (const kind of ["prices", "features"] as const)
    for (const [orient, text] of Object.entries(expected.texts[kind]))
      it(`has the ${kind} of its DataFrame: ${orient}`, async () => {
        await assertContent(kind, Buffer.from(text), kind === "prices" ? "few prices" : "few rows");
      });
});
