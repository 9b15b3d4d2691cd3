import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findOutputs } from "../outputs/find-outputs.ts";
import { inputLocations, oneOutput, outputFolder, outputLocations } from "./locations.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-locations-"));
const blobs = join(folder, "blobs");
const newest = join(blobs, "forecasts/data/nn_engine_new.json");
for (const place of ["data", "forecasts/data"]) mkdirSync(join(blobs, place), { recursive: true });
for (const [minute, name] of [
  "data/feature_engine_1.json",
  "data/data_extractor_1.json",
  "data/ml_engine_old.json",
  "data/feature_engine_2.json",
  "data/data_extractor_2.json",
  "ml_engine_middle.json",
  "forecasts/data/nn_engine_new.json",
  "data/feature_engine_3.json",
].entries()) {
  writeFileSync(join(blobs, name), "{}");
  utimesSync(join(blobs, name), 60 * minute, 60 * minute);
}
after(() => rmSync(folder, { recursive: true }));

/** Runs `work` while BLOB_URL is set, and restores it. */
async function withBlobUrl<T>(url: string | undefined, work: () => T | Promise<T>): Promise<T> {
  const before = process.env.BLOB_URL;
  if (url === undefined) delete process.env.BLOB_URL;
  else process.env.BLOB_URL = url;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env.BLOB_URL;
    else process.env.BLOB_URL = before;
  }
}

test("finds the outputs in a folder and where commands write them below it, newest first", async () => {
  const found = await findOutputs(blobs);
  assert.deepEqual(
    found.map(({ path }) => path),
    [newest, join(blobs, "ml_engine_middle.json"), join(blobs, "data/ml_engine_old.json")],
  );
  await assert.rejects(findOutputs(join(folder, "absent")), {
    code: "invalid_request",
    message: /cannot be listed/,
  });
});

test("a folder, its file: URL and latest stand for the newest output; other names are as given", async () => {
  const named = [blobs, `file://${blobs}`, "out.json", "s3://bucket/x.json"];
  const others = ["out.json", "s3://bucket/x.json", "more.json"];
  assert.deepEqual(await outputLocations(named, { output: ["more.json"] }), [newest, newest, ...others]);
  const latest = () => outputLocations(["latest"], { output: undefined });
  assert.deepEqual(await withBlobUrl(blobs, latest), [newest]);
  assert.equal(await withBlobUrl(undefined, outputFolder), ".");
});

test("a folder stands for its newest pair of blobs, for both inputs or one", async () => {
  const features = join(blobs, "data/feature_engine_2.json");
  const prices = join(blobs, "data/data_extractor_2.json");
  assert.deepEqual(await inputLocations(blobs, undefined), { features, prices });
  assert.deepEqual(await inputLocations(blobs, blobs), { features, prices });
  assert.deepEqual(await inputLocations(blobs, "p.json"), { features, prices: "p.json" });
  assert.deepEqual(await inputLocations("f.json", undefined), { features: "f.json", prices: undefined });
  assert.deepEqual(await withBlobUrl(blobs, () => inputLocations("latest", undefined)), { features, prices });
});

test("a missing output, and two where one is needed, are invalid requests", async () => {
  const refused = (work: Promise<unknown>, message: RegExp) =>
    assert.rejects(work, { code: "invalid_request", message });
  await refused(outputLocations([], { output: undefined }), /name an output, a folder, or latest/);
  await refused(oneOutput([newest], { output: [newest] }), /has 2 outputs; name one/);
});

test("latest is no output of another folder if BLOB_URL is not a folder of this machine", async () => {
  const url = "https://blobs.example/container?sig=planted";
  await withBlobUrl(url, () =>
    assert.rejects(outputLocations(["latest"], { output: undefined }), (error: Error) => {
      assert.match(error.message, /BLOB_URL is https:.*, which mucast does not list/);
      return !error.message.includes("planted");
    }),
  );
});
