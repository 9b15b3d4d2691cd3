/** Fields, tickers and adjusted prices in blobs as vendors write them; csv.test.ts of src/prepare has their files. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { mucast } from "../commands/command.ts";
import { newFolder, removeFolders } from "../jobs/job-runs.ts";

const FIELD = fileURLToPath(new URL("../../cases/field/", import.meta.url));
const RIDGE = '{"ML params": {"model": "ridge", "cv_test_size": 10, "n_splits": 2}}';

let folder: string;
before(async () => {
  folder = await newFolder();
});
after(removeFolders);

test("prepare refuses --ticker for a file that names its tickers", async () => {
  const { stderr } = await mucast([
    "prepare",
    ...["--prices", join(FIELD, "Name.parquet"), "--out", folder, "--ticker", "A"],
  ]);
  assert.match(stderr, /names its tickers in "Name"; leave out --ticker/);
});

/** Runs a job on the two blobs of a folder; `change` changes the text of the prices. */
async function job(name: string, change: (text: string) => string, ...flags: string[]) {
  const prices = join(folder, `${name}.json`);
  await writeFile(prices, change(readFileSync(join(FIELD, name, "data_extractor_1.json"), "utf8")));
  const urls = ["--feature-url", join(FIELD, name, "feature_engine_1.json"), "--data-extractor-url", prices];
  return mucast(["run_ml_job", ...urls, "--config", RIDGE, "--blob-url", folder, ...flags]);
}

describe("a job", () => {
  for (const [close, adjusted] of [
    ["close", "adjusted_close"],
    ["Close", "Adj. Close"],
    ["close", "closeadj"],
    ["price", "AdjustmentClose"],
  ] as const)
    test(`learns ${adjusted} rather than ${close}`, async () => {
      const rename = (text: string) =>
        text
          .replaceAll('"close"', JSON.stringify(close))
          .replaceAll('"adjusted_close"', JSON.stringify(adjusted));
      const { stdout, stderr } = await job("adjusted", rename, "--learning-end", "2014-06-02");
      assert.notEqual(stdout, "", stderr);
      const { dates, realised } = JSON.parse(
        readFileSync(fileURLToPath(JSON.parse(stdout).output_url), "utf8"),
      ).forecasts.AAPL;
      // ln(87.1866 / 85.8134); without the split of 7:1 it would be -1.930.
      assert.equal(realised[dates.indexOf("2014-06-06")], Math.log(87.1866 / 85.8134));
    });

  test("warns of prices of zero and below, also of a ticker that fails for them", async () => {
    const { stderr } = await job("negative-prices", (text) => text);
    for (const [ticker, count] of [
      ["NEG", 160],
      ["SOME", 16],
      ["Z", 160],
    ])
      assert.match(stderr, new RegExp(`nonpositive_price: ${ticker}: ${count} prices are zero or negative`));
  });
});
