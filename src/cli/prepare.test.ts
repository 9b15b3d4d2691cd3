import assert from "node:assert/strict";
import { test } from "node:test";
import { preparedText } from "./prepare.ts";

test("on a terminal, prepare ends with a few lines, whatever the number of tickers", () => {
  const prepared = {
    id: "1",
    featurePath: "blobs/data/feature_engine_1.json",
    dataExtractorPath: "blobs/data/data_extractor_1.json",
    tickers: Array.from({ length: 200 }, (_, i) => `T${i}`),
    ...{ dates: 900, start: "2020-01-02", end: "2023-07-28", learningEnd: "2022-12-31" },
    features: ["mom_5", "vol_20"],
    written: false,
  };
  assert.equal(
    preparedText(prepared),
    `200 tickers, 900 dates from 2020-01-02 to 2023-07-28, learning ends 2022-12-31, 2 features
feature_url         blobs/data/feature_engine_1.json
data_extractor_url  blobs/data/data_extractor_1.json
Both blobs existed already, with the same bytes.
`,
  );
});
