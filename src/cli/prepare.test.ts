import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { follow, preparedText } from "./prepare.ts";

test("prepare shows a bar after two seconds, on a terminal and without --json", (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const written = (isTTY: boolean, isJson: boolean) => {
    now = 0;
    const stream = Object.assign(new PassThrough(), { isTTY });
    const { report, onProgress, finish } = follow(stream, isJson);
    onProgress({ stage: "read", done: 1e6 });
    now = 2_000;
    onProgress({ stage: "read", done: 2e6 });
    report("2 tickers");
    now = 4_000;
    onProgress({ stage: "write", done: 1, total: 2 });
    finish();
    return String(stream.read() ?? "").replaceAll("\r\u001b[K", "<erased>");
  };

  const shown = written(true, false);
  assert.match(shown, /^<erased>reading .* 2\.0 MB<erased>2 tickers\n<erased>writing .* 1 of 2<erased>$/);
  assert.equal(written(true, true), "2 tickers\n");
  assert.equal(written(false, false), "2 tickers\n");
});

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
