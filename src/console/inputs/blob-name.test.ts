import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isInputName } from "../../blob/names.ts";
import { blobName, blobNameInUrl, isBlobId, readBlobName, suggestedName } from "./blob-name.ts";

for (const [file, name] of [
  ["feature_engine_42.json", "feature_engine_42.json"],
  ["data_extractor_a-b.json.gz", "data_extractor_a-b.json"],
  ["data_extractor_42.parquet", "data_extractor_42.parquet"],
  ["My prices (1).Parquet", "data_extractor_My-prices-1.parquet"],
  ["My prices (1).json", "data_extractor_My-prices-1.json"],
  ["features.of.prices.json", "feature_engine_features-of-prices.json"],
  ["data_extractor_\u202eevil.json", "data_extractor_evil.json"],
  ["\u4fa1\u683c.json", "feature_engine_upload.json"],
  ["", "feature_engine_upload.json"],
] as const) {
  test(`the file ${JSON.stringify(file)} is offered the name ${name}`, () => {
    assert.equal(blobName(suggestedName(file)), name);
  });
}

test("a suggested name is one that the service accepts, whatever the file is called", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (file) =>
      assert.ok(isInputName(blobName(suggestedName(file)))),
    ),
  );
  fc.assert(
    fc.property(fc.string(), (id) => assert.equal(isBlobId(id), isInputName(`feature_engine_${id}.json`))),
  );
});

test("the name of a blob is read from its URL", () => {
  assert.deepEqual(blobNameInUrl("https://a.b/c/data/feature_engine_x.json?sig=1#2"), {
    kind: "feature_engine",
    id: "x",
    format: "json",
  });
  assert.equal(blobNameInUrl("https://a.b/data/data_extractor_x.parquet")?.format, "parquet");
  assert.equal(blobNameInUrl("https://a.b/data/ml_engine_x.json"), undefined);
  assert.equal(readBlobName("feature_engine_.json"), undefined);
});
