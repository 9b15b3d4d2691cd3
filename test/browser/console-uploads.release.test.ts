import assert from "node:assert/strict";
import { test } from "node:test";
import {
  control,
  BLOBS as FORM_BLOBS,
  open,
  sentText,
  service,
  UPLOAD_BYTES,
  unfold,
} from "./console-forms.testing.ts";

/** Under names that no other test stores. */
const BLOBS = FORM_BLOBS.map((blob) => ({ ...blob, name: blob.name.replace("_ui", "_chosen") }));

/** Prices of two tickers on 300 days. */
const CSV = {
  name: "prices.csv",
  mimeType: "text/csv",
  buffer: Buffer.from(
    [
      "Date,AAA,BBB",
      ...Array.from({ length: 300 }, (_, i) => `${dayAfter(i)},${100 + (i % 7)},${50 + (i % 5)}`),
    ].join("\n"),
  ),
};

function dayAfter(days: number): string {
  return new Date(Date.UTC(2020, 0, 1 + days)).toISOString().slice(0, 10);
}

test("uploads files as they are chosen, replaces one only on request, and fills the job's form with their URLs", async () => {
  const { page, unwanted, close } = await open("#/job");
  await unfold(page);
  await page.setInputFiles(".upload-blobs input[type=file]", BLOBS);
  await page.waitForSelector(".upload >> nth=0 >> text=Stored as feature_engine_chosen.json.");
  await page.waitForSelector(".upload >> nth=1 >> text=Stored as data_extractor_chosen.json.");
  assert.deepEqual(JSON.parse(await sentText(page)), {
    feature_url: `${service.url}/data/feature_engine_chosen.json`,
    data_extractor_url: `${service.url}/data/data_extractor_chosen.json`,
  });
  await page.goto(`${service.url}/#/upload`);
  await page.waitForSelector("h1:text-is('Upload inputs')");
  await page.waitForSelector(".upload-blobs input[type=file]");
  await page.setInputFiles(".upload-blobs input[type=file]", [BLOBS[0]!]);
  await page.click("button:text-is('Replace')");
  await page.waitForSelector("text=Stored as feature_engine_chosen.json, replacing the previous blob.");
  assert.equal(await page.evaluate("document.activeElement.closest('.upload') !== null"), true);
  await page.waitForSelector("a[href*='feature_url']:text-is('Submit a job with these inputs')");
  assert.deepEqual(unwanted, []);
  await close();
});

test("a file's hostile name is text, and it waits for a valid one; a file that is too large is refused", async () => {
  const { page, unwanted, close } = await open("#/upload");
  const hostile = "<img src=x onerror=alert(1)>\u202egnp.json";
  const buffer = Buffer.alloc(UPLOAD_BYTES + 1, " ");
  await page.setInputFiles(".upload-blobs input[type=file]", [
    { name: hostile, mimeType: "application/json", buffer },
  ]);
  assert.equal(await page.evaluate("document.querySelectorAll('.uploads img').length"), 0);
  assert.match(
    (await page.textContent(".upload .file"))!,
    /^<img src=x onerror=alert\(1\)>\[U\+202E\]gnp\.json \(4.00 MB\)$/,
  );
  await page.fill(".upload input", "no such name");
  assert.match((await page.textContent(".upload .fault:not([hidden])"))!, /1 to 64 letters/);
  await page.fill(".upload input", "feature_engine_large.json");
  await page.click("button:text-is('Upload')");
  await page.waitForSelector(".upload >> text=at most 4000000 are accepted");
  assert.deepEqual(unwanted, []);
  await close();
});

test("half-written JSON survives an upload and a visit to the other job", async () => {
  const { page, unwanted, close } = await open("#/job");
  const half = '{"feature_url": "x", "config": {';
  await page.fill("textarea.raw", half);
  await page.click("text=Add data: a file of prices, or input blobs");
  await page.setInputFiles(".upload-blobs input[type=file]", [
    { ...BLOBS[0]!, name: "feature_engine_half.json" },
  ]);
  await page.waitForSelector(".upload >> text=Stored as feature_engine_half.json.");
  assert.equal(await sentText(page), half);
  await page.click("text=Neural networks");
  await page.click("text=Regressors (run_ml_job)");
  assert.equal(await sentText(page), half);
  assert.deepEqual(unwanted, []);
  await close();
});

test("a price CSV becomes both inputs of a job, and its faults and faulty options are reported at their fields", async () => {
  const { page, unwanted, close } = await open("#/job");
  await unfold(page);
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector("text=Choose a file first.");
  const broken = Buffer.from("Date,AAA\n2020-01-02,1.5\n2020-01-02,1.6\n");
  await page.setInputFiles(".prepare input[type=file] >> nth=0", [{ ...CSV, buffer: broken }]);
  await page.fill(control("id"), "no such id");
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector(".prepare .field .fault >> text=must be 1 to 64 letters");
  await page.fill(control("id"), "csv");
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector(".prepare .refusal >> text=line 3");
  await page.setInputFiles(".prepare input[type=file] >> nth=0", [CSV]);
  await page.fill(control("learning_end"), "2020-06-30");
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector("text=A job learns from returns up to 2020-06-30.");
  assert.match(
    (await page.textContent(".prepare > [role=status]"))!,
    /^2 tickers, 300 dates from 2020-01-01 to/,
  );
  assert.deepEqual(JSON.parse(await sentText(page)), {
    feature_url: `${service.url}/data/feature_engine_csv.json`,
    data_extractor_url: `${service.url}/data/data_extractor_csv.json`,
  });
  const own = Buffer.from("date,ticker,signal\n2020-03-02,AAA,1\n");
  await page.setInputFiles(".prepare input[type=file] >> nth=1", [
    { name: "own, 1.csv", mimeType: "text/csv", buffer: own },
  ]);
  await page.fill(control("id"), "");
  await page.fill(control("learning_end"), "");
  await page.selectOption(control("only_features"), "true");
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector("text=1 feature each.");
  assert.deepEqual(unwanted, []);
  await close();
});
