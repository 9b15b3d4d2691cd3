import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isInputName } from "../../blob/names.ts";
import { INPUT_NAME, suggestedName } from "./uploads.ts";

test("a file is offered its own name, or the closest one that the service accepts", () => {
  for (const [file, name] of [
    ["feature_engine_42.json", "feature_engine_42.json"],
    ["data_extractor_a-b.json.gz", "data_extractor_a-b.json"],
    ["data_extractor_42.parquet", "data_extractor_42.parquet"],
    ["My prices (1).Parquet", "data_extractor_My-prices-1.parquet"],
    ["features.of.prices.json", "feature_engine_features-of-prices.json"],
    ["data_extractor_\u202eevil.json", "data_extractor_evil.json"],
    ["\u4fa1\u683c.json", "feature_engine_upload.json"],
    ["", "feature_engine_upload.json"],
  ] as const)
    assert.equal(suggestedName(file), name);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (file) => assert.ok(isInputName(suggestedName(file)))),
  );
});

test("names are valid as they are for the service", () => {
  const check = (id: string) => {
    const name = `feature_engine_${id}.json`;
    assert.equal(INPUT_NAME.test(name), isInputName(name));
  };
  fc.assert(fc.property(fc.string(), check));
});
