import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareCodePoints } from "./ticker-series.ts";

/** Compares two texts as lists of code points; a list that ends first comes first. */
function slowCompare(a: string, b: string): number {
  const left = Array.from(a, (letter) => letter.codePointAt(0)!);
  const right = Array.from(b, (letter) => letter.codePointAt(0)!);
  for (let i = 0; ; i++) {
    if (i === left.length || i === right.length) return left.length - right.length;
    if (left[i] !== right[i]) return left[i]! - right[i]!;
  }
}

test("texts compare as lists of code points, unpaired surrogates included", () => {
  const unit = fc.constantFrom("\ud83d", "\ude00", "\ud800", "\udc00", "\uffff", "\ue000", "a", "\u{1F600}");
  const text = fc.oneof(
    fc.array(fc.nat(0x10ffff)).map((points) => String.fromCodePoint(...points)),
    fc.array(unit).map((units) => units.join("")),
  );
  const property = fc.property(text, text, (a, b) => {
    assert.equal(Math.sign(compareCodePoints(a, b)), Math.sign(slowCompare(a, b)));
  });
  fc.assert(property, { seed: 4, numRuns: 2000 });
});
