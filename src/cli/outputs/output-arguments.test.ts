import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findOutputs } from "../../outputs/find-outputs.ts";
import { oneOutput, outputFolder, outputLocations } from "./output-arguments.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-outputs-"));
const blobs = join(folder, "blobs");
const newest = join(blobs, "data/nn_engine_new.json");
mkdirSync(join(blobs, "data"), { recursive: true });
for (const [name, minute] of [
  ["data/ml_engine_old.json", 1],
  ["data/nn_engine_new.json", 3],
  ["ml_engine_middle.json", 2],
  ["data/feature_engine_1.json", 9],
] as const) {
  writeFileSync(join(blobs, name), "{}");
  utimesSync(join(blobs, name), 60 * minute, 60 * minute);
}

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

after(() => rmSync(folder, { recursive: true }));

test("finds the outputs in a folder and in its data folder, newest first", async () => {
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
  assert.deepEqual(await outputLocations(named, { output: ["more.json"] }), [
    newest,
    newest,
    "out.json",
    "s3://bucket/x.json",
    "more.json",
  ]);
  for (const url of [blobs, `file://${blobs}`]) {
    assert.deepEqual(await withBlobUrl(url, () => outputLocations(["latest"], {})), [newest]);
  }
  assert.equal(await withBlobUrl(undefined, outputFolder), ".");
});

test("a missing output, a folder without one, and two where one is needed are invalid requests", async () => {
  const refused = (work: Promise<unknown>, message: RegExp) =>
    assert.rejects(work, { code: "invalid_request", message });
  await refused(outputLocations([], {}), /name an output, a folder, or latest/);
  await refused(oneOutput([newest], { output: [newest] }), /has 2 outputs; name one/);
});

test("latest is no output of another folder if BLOB_URL is not a folder of this machine", async () => {
  for (const [url, message] of [
    ["https://blobs.example/container?sig=planted", /BLOB_URL is https:.*, which mucast does not list/],
    ["file://host/blobs", /is not a usable file: URL/],
  ] as const) {
    await withBlobUrl(url, () =>
      assert.rejects(outputLocations(["latest"], {}), (error: Error) => {
        assert.match(error.message, message);
        return !error.message.includes("planted");
      }),
    );
  }
});
