import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { MucastError } from "../../contract/errors/errors.ts";
import { checkOutput, resolveOutput } from "./output-folder.ts";

const isInvalid = (error: unknown) => error instanceof MucastError && error.code === "invalid_request";

test("outputs go to the data folder of BLOB_URL", () => {
  const featureLocation = "/elsewhere/f.json";
  assert.equal(resolveOutput({ blobUrl: "/srv/blobs", featureLocation }), "/srv/blobs/data");
  assert.equal(resolveOutput({ blobUrl: "/srv/blobs/", featureLocation }), "/srv/blobs/data");
  assert.equal(resolveOutput({ blobUrl: "rel", featureLocation }), resolve("rel/data"));
  assert.equal(resolveOutput({ blobUrl: "file:///srv/a%20b", featureLocation }), "/srv/a b/data");
});

test("without BLOB_URL, outputs go beside the feature file, never into data/data", () => {
  assert.equal(resolveOutput({ featureLocation: "/srv/x/f.json" }), "/srv/x/data");
  assert.equal(resolveOutput({ featureLocation: "/srv/x/data/f.json" }), "/srv/x/data");
  assert.equal(resolveOutput({ blobUrl: "", featureLocation: "f.json" }), resolve("data"));
  assert.equal(resolveOutput({ featureLocation: pathToFileURL("/srv/data/f.json").href }), "/srv/data");
});

test("refuses an output on https, says what to set, and does not show the SAS", () => {
  const url = "https://a.example/c/data/feature_engine_1.json?sig=SECRET";
  assert.throws(() => resolveOutput({ featureLocation: url }), isInvalid);
  assert.throws(
    () => resolveOutput({ blobUrl: "https://a.example/c?sig=SECRET", featureLocation: "f.json" }),
    (error) => isInvalid(error) && !String(error).includes("SECRET"),
  );
  assert.throws(() => resolveOutput({ blobUrl: "file://host/x", featureLocation: "f.json" }), isInvalid);
  assert.throws(() => resolveOutput({ blobUrl: "file:///x?y", featureLocation: "f.json" }), isInvalid);
});

test("a folder that cannot take the output is an error before the job, and the check creates nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-output-"));
  try {
    await checkOutput(join(folder, "new", "data"), "o.json");
    assert.deepEqual(readdirSync(folder), []);
    writeFileSync(join(folder, "file"), "");
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "data", "o.json"), "{}");
    for (const taken of [join(folder, "data"), join(folder, "file", "data")]) {
      await assert.rejects(
        checkOutput(taken, "o.json"),
        (error) => error instanceof MucastError && error.code === "output_failed",
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a BLOB_URL without its scheme, or in quotes, does not become a folder named after its SAS", () => {
  for (const blobUrl of [
    "a.example/c?sig=SECRET",
    '"https://a.example/c?sig=SECRET"',
    " https://a.example/c?sig=SECRET",
  ]) {
    assert.throws(
      () => resolveOutput({ blobUrl, featureLocation: "f.json" }),
      (error: MucastError) =>
        error.code === "invalid_request" && !/SECRET/.test(error.message + JSON.stringify(error.data)),
    );
  }
});
