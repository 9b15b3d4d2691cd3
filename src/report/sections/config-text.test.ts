import assert from "node:assert/strict";
import { test } from "node:test";
import { configText } from "./config-text.ts";

test("a config with line breaks, or of one short line, stays as it was written", () => {
  for (const text of ['{\n    "model": "ridge"\n}', '{"model":"ridge"}', ""])
    assert.equal(configText(text), text);
});

test("one long line gets line breaks and indents, and keeps every token", () => {
  const text =
    '{"model":"ridge","model_params":{"alpha":1.0e0,"list":[1,[2,3]],"none":{},"empty":[]},"choice":{"candidates":[{"grid":{"alpha":[2,3]}}]}}';
  assert.equal(
    configText(text),
    `{
  "model": "ridge",
  "model_params": {
    "alpha": 1.0e0,
    "list": [1, [2, 3]],
    "none": {},
    "empty": []
  },
  "choice": {
    "candidates": [
      {
        "grid": {
          "alpha": [2, 3]
        }
      }
    ]
  }
}`,
  );
});

test("punctuation in strings is text, and text that is not JSON loses nothing but spaces", () => {
  const strings = `{"a":"x,{}[]:\\"y","b":${JSON.stringify("z".repeat(80))}}`;
  assert.deepEqual(JSON.parse(configText(strings)), JSON.parse(strings));
  const broken = `}}]"${"{[,".repeat(40)}`;
  assert.equal(configText(broken).replaceAll(/\s/g, ""), broken.replaceAll(/\s/g, ""));
});
