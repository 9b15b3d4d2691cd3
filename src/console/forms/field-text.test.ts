import assert from "node:assert/strict";
import { test } from "node:test";
import { rawNumber } from "../../contract/json/json-text.ts";
import type { RawJson } from "./draft.ts";
import { fieldText, fieldValue, jsonFault } from "./field-text.ts";
import type { Kind } from "./schema.ts";

test("the text of a field is a value of its kind, or else a text that the service refuses with its path", () => {
  for (const [kind, text, value] of [
    ["number", "1.0", rawNumber("1.0")],
    ["number", " 1e-5 ", rawNumber("1e-5")],
    ["integer", "9007199254740993", rawNumber("9007199254740993")],
    ["integer", "05", "05"],
    ["number", "0,5", "0,5"],
    ["number", "1e999", "1e999"],
    ["number", "", undefined],
    ["flag", "false", false],
    ["numbers", "64, 32", [rawNumber("64"), rawNumber("32")]],
    ["numbers", "64; x", [rawNumber("64"), "x"]],
    ["names", "mom_1\n\n a, b ", ["mom_1", "a, b"]],
    ["json", '{"alpha": 1.0}', { alpha: rawNumber("1.0") }],
    ["json", '{"alpha":', '{"alpha":'],
    ["text", "  https://a/b ", "https://a/b"],
    ["choice", "", undefined],
  ] as const satisfies readonly (readonly [Kind, string, RawJson | undefined])[])
    assert.equal(JSON.stringify(fieldValue(kind, text)), JSON.stringify(value), `${kind} ${text}`);
  assert.match(jsonFault('{"alpha":')!, /line 1, column 10/);
});

test("a field shows what it has written, and a value of another kind as JSON", () => {
  for (const [kind, text] of [
    ["number", "1.50"],
    ["number", "0,5"],
    ["numbers", "64, 32"],
    ["names", "a\nb"],
    ["flag", "true"],
    ["choice", "ridge"],
    ["json", '{\n  "alpha": 1.0\n}'],
  ] as const) {
    assert.equal(fieldText(kind, fieldValue(kind, text)), text);
  }
  assert.equal(fieldText("number", "5"), '"5"');
  assert.equal(fieldText("choice", rawNumber("1.0")), "1.0");
  assert.equal(fieldText("text", { a: null }), '{\n  "a": null\n}');
});
