import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { formatDay } from "../src/contract/market/dates.ts";
import { readPriceCsv } from "../src/prepare/csv/read-price-csv.ts";

const examples = fileURLToPath(new URL("../examples", import.meta.url));

test("the script of the tiny example writes the same blobs, byte for byte", () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-tiny-"));
  try {
    execFileSync(process.execPath, [join(examples, "tiny", "make.mjs"), folder]);
    const names = readdirSync(join(folder, "data"));
    assert.deepEqual(names.sort(), ["data_extractor_tiny.json", "feature_engine_tiny.json"]);
    for (const name of names) {
      const shipped = readFileSync(join(examples, "tiny", "data", name));
      assert.ok(readFileSync(join(folder, "data", name)).equals(shipped), name);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the S&P 500 prices have the file, the tickers and the dates that their README states", async () => {
  const readme = readFileSync(join(examples, "sp500-prices", "README.md"), "utf8");
  const path = join(examples, "sp500-prices", "prices.csv.gz");
  const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
  assert.ok(readme.includes(digest));
  const { tickers } = await readPriceCsv(path);
  assert.ok(readme.replaceAll(/\s+/g, " ").includes(`${tickers.map(({ ticker }) => ticker).join(", ")}.`));
  assert.ok(tickers.every(({ days }) => days.length === 8313));
  // The demo uses them from its first day on.
  const [, first] = /start: "(\d{4})-/.exec(readFileSync("scripts/demo.ts", "utf8"))!;
  const last = Math.max(...tickers.map(({ days }) => days.at(-1)!));
  assert.match(
    readFileSync("README.md", "utf8"),
    new RegExp(`npm run demo .*, ${first} to ${formatDay(last).slice(0, 4)}\n`),
  );
});
