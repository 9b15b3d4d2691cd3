import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rawNumber } from "../../contract/json/json-text.ts";
import { type OrderedJson, orderedPieces, stringifyOrdered } from "./ordered-json.ts";

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

test("the pieces are the text, whole", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal([...orderedPieces(value as OrderedJson)].join(""), JSON.stringify(value));
    }),
  );
  const nested = { a: new Map([["10", { b: [1] }]]), c: undefined, d: {}, e: rawNumber("1.0"), f: new Map() };
  assert.equal([...orderedPieces(nested)].join(""), '{"a":{"10":{"b":[1]}},"d":{},"e":1.0,"f":{}}');
});

test("the pieces may be longer together than a string can be", () => {
  const text = "x".repeat(2 ** 20);
  const tickers = new Map(Array.from({ length: 600 }, (_, i) => [`T${i}`, text]));
  let length = 0;
  for (const piece of orderedPieces({ forecasts: tickers })) length += piece.length;
  assert.ok(length > 2 ** 29, String(length));
});
