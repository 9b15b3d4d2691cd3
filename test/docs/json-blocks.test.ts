/** JSON in README.md and docs/ is valid, and what its fence says; docs.release.test.ts runs the other code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDlSettings } from "../../src/contract/config/dl-settings.ts";
import { parseMlSettings } from "../../src/contract/config/ml-settings.ts";
import { resultRecordSchema } from "../../src/contract/output/result-record.ts";
import { settingsSchema } from "../../src/contract/settings.ts";
import { codeBlocks, placeOf } from "./code-blocks.testing.ts";

const FORMATS: Readonly<Record<string, (text: string) => unknown>> = {
  ml: parseMlSettings,
  dl: parseDlSettings,
  "ml-lines": (text) => {
    for (const line of text.trim().split("\n")) parseMlSettings(`{"ML params": ${line}}`);
  },
  record: (text) => resultRecordSchema.parse(JSON.parse(text)),
  settings: (text) => settingsSchema.parse(JSON.parse(text)),
};

test("JSON is what its fence says", () => {
  for (const block of codeBlocks()) {
    if (block.language !== "json") continue;
    const [format = ""] = Object.keys(block.words);
    const read = format === "" ? JSON.parse : FORMATS[format];
    assert.ok(read !== undefined, `${placeOf(block)}: ${format} is no format of JSON`);
    assert.doesNotThrow(() => read(block.text), placeOf(block));
  }
});

test("every other word of a fence is known", () => {
  const known = new Set(["run", "in", "serve", "file"]);
  for (const block of codeBlocks()) {
    if (block.language === "json") continue;
    for (const word of Object.keys(block.words)) assert.ok(known.has(word), `${placeOf(block)}: ${word}`);
  }
});
