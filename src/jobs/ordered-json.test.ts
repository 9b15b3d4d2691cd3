import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rawNumber } from "../contract/json-text.ts";
import { type OrderedJson, stringifyOrdered } from "./ordered-json.ts";

test("plain JSON is printed as JSON.stringify prints it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(stringifyOrdered(value as OrderedJson), JSON.stringify(value));
    }),
  );
});

test("a Map keeps its order, also for keys that look like numbers or like a prototype", () => {
  const map = new Map([
    ["b", 1],
    ["10", 2],
    ["__proto__", 3],
    ["2", 4],
  ]);
  assert.equal(stringifyOrdered(map), '{"b":1,"10":2,"__proto__":3,"2":4}');
});

test("typed arrays print shortest round-trip, and raw numbers as they are written", () => {
  assert.equal(stringifyOrdered(Float64Array.of(0.1, 1e-7, -2)), "[0.1,1e-7,-2]");
  assert.equal(stringifyOrdered({ a: rawNumber("1.0"), b: undefined }), '{"a":1.0}');
});

test("NaN and Infinity are a defect, not a null", () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => stringifyOrdered([value]), TypeError);
    assert.throws(() => stringifyOrdered(Float64Array.of(value)), TypeError);
  }
});
