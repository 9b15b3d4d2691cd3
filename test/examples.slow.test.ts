import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { formatDay } from "../src/contract/market/dates.ts";
import { readPriceFile } from "../src/prepare/input-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("the script of the tiny case writes the same blobs, byte for byte", () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-tiny-"));
  try {
    execFileSync(process.execPath, [join(root, "test/cases/tiny/make.mjs"), folder]);
    const names = readdirSync(join(folder, "data"));
    assert.deepEqual(names.sort(), ["data_extractor_tiny.json", "feature_engine_tiny.json"]);
    for (const name of names) {
      const shipped = readFileSync(join(root, "test/cases/tiny/data", name));
      assert.ok(readFileSync(join(folder, "data", name)).equals(shipped), name);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const example of ["test/cases/sp500-20", "examples/sp500-200"]) {
  test(`${example} has the file, the tickers and the dates that its README states`, async () => {
    const readme = readFileSync(join(root, example, "README.md"), "utf8").replaceAll(/\s+/g, " ");
    const path = join(root, example, "prices.csv.gz");
    const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
    assert.ok(readme.includes(digest), `${example}: its digest is ${digest}`);
    const { tickers } = await readPriceFile(path);
    const days = [...new Set(tickers.flatMap((ticker) => [...ticker.days]))].sort((a, b) => a - b);
    const [first, last] = [days[0]!, days.at(-1)!].map(formatDay);
    assert.ok(readme.includes(`${tickers.length} S&P 500 names`));
    assert.ok(readme.includes(`from ${first} to ${last}, ${days.length.toLocaleString("en")} dates`));
  });
}
