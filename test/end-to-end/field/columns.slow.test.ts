/** Fields, tickers and adjusted prices in blobs as vendors write them; csv.test.ts of src/prepare has their files. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { preparePrices } from "../../../src/prepare/prepare-prices.ts";
import { newFolder, removeFolders, runJob, writeTexts } from "../jobs/job-runs.ts";

const FIELD = fileURLToPath(new URL("../../cases/field/", import.meta.url));
const RIDGE = '{"ML params": {"model": "ridge", "cv_test_size": 10, "n_splits": 2}}';

after(removeFolders);

test("prepare refuses --ticker for a file that names its tickers", async () => {
  const csvPath = join(FIELD, "Name.parquet");
  await assert.rejects(
    preparePrices({ csvPath, outFolder: await newFolder(), options: { ticker: "A" } }),
    /names its tickers in "Name"; leave out --ticker/,
  );
});

/** The output of a job on the two blobs of a folder; `change` changes the text of the prices. */
async function job(name: string, change: (text: string) => string) {
  const read = (file: string) => readFileSync(join(FIELD, name, file), "utf8");
  const blobs = await writeTexts(read("feature_engine_1.json"), change(read("data_extractor_1.json")));
  return (await runJob(blobs, RIDGE)).output;
}

describe("a job", () => {
  for (const [close, adjusted] of [
    ["close", "adjusted_close"],
    ["Close", "Adj. Close"],
    ["close", "closeadj"],
    ["price", "AdjustmentClose"],
  ] as const)
    test(`learns ${adjusted} rather than ${close}`, async () => {
      const { forecasts } = await job("adjusted", (text) => {
        const prices = text
          .replaceAll('"close"', JSON.stringify(close))
          .replaceAll('"adjusted_close"', JSON.stringify(adjusted));
        return `{"prices": ${prices}, "Learning_end": "2014-06-02"}`;
      });
      const { dates, realised } = forecasts.AAPL!;
      // ln(87.1866 / 85.8134); without the split of 7:1 it would be -1.930.
      assert.equal(realised[dates.indexOf("2014-06-06")], Math.log(87.1866 / 85.8134));
    });

  test("warns of prices of zero and below, also of a ticker that fails for them", async () => {
    const { warnings } = await job("negative-prices", (text) => text);
    const counts = warnings.filter(({ code }) => code === "nonpositive_price");
    assert.deepEqual(
      counts.map(({ ticker, count }) => [ticker, count]),
      [
        ["NEG", 160],
        ["Z", 160],
        ["SOME", 16],
      ],
    );
  });
});
