import assert from "node:assert/strict";
import { test } from "node:test";
import { type RawJson, rawNumber } from "../../contract/json/json-text.ts";
import { acceptedText, defaultText, fieldText, fieldValue } from "./field-text.ts";
import type { Field, FieldKind } from "./schema-fields.ts";

function field(kind: FieldKind, bounds: Field["bounds"] = {}, byDefault?: string): Field {
  return { kind, bounds, byDefault, choices: [], path: ["x"], name: "x", description: "", isRequired: false };
}

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
  ["text", "  https://a/b ", "https://a/b"],
  ["choice", "", undefined],
] as const satisfies readonly (readonly [FieldKind, string, RawJson | undefined])[]) {
  test(`${JSON.stringify(text)} in a field of kind ${kind} is ${JSON.stringify(value)}`, () => {
    assert.deepEqual(JSON.stringify(fieldValue(field(kind), text)), JSON.stringify(value));
  });
}

test("a field shows what it has written, and a value of another kind as JSON", () => {
  for (const [kind, text] of [
    ["number", "1.50"],
    ["numbers", "64, 32"],
    ["names", "a\nb"],
    ["flag", "true"],
    ["choice", "ridge"],
    ["json", '{\n  "alpha": 1.0\n}'],
  ] as const) {
    assert.equal(fieldText(field(kind), fieldValue(field(kind), text)), text);
  }
  assert.equal(fieldText(field("number"), "5"), '"5"');
  assert.equal(fieldText(field("choice"), rawNumber("1.0")), "1.0");
  assert.equal(fieldText(field("text"), { a: null }), '{\n  "a": null\n}');
});

test("a field says its range in words, and an empty one shows its default", () => {
  for (const [kind, bounds, words] of [
    ["integer", { minimum: 1, maximum: 10_000 }, "An integer, 1 to 10,000."],
    ["number", { exclusiveMinimum: 0, exclusiveMaximum: 1 }, "A number, above 0 and below 1."],
    ["number", { exclusiveMinimum: 0, maximum: 1e30 }, "A number, above 0 and at most 1e+30."],
    ["number", { minimum: 0 }, "A number, at least 0."],
    ["numbers", { minimum: 1, maximum: 4_096 }, "Comma-separated integers, each 1 to 4,096."],
    ["choice", {}, ""],
  ] as const)
    assert.equal(acceptedText(field(kind, bounds)), words);
  assert.deepEqual(["true", "[64,32]", '"auto"', "10000"].map(defaultText), [
    "true",
    "64, 32",
    "auto",
    "10,000",
  ]);
});
