import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { boundedCopy, jsonBytes } from "./bounded-json.ts";

/** Texts that are longer as JSON. */
const hostile = fc.string({
  unit: fc.constantFrom("a", '"', "\\", "\n", "\u0001", "\u007f", "é", "€", "😀", "\ud800"),
  maxLength: 60,
});
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    hostile,
    fc.double(),
    fc.constantFrom(null, true, undefined),
    fc.array(tie("value"), { maxLength: 6 }),
    fc.dictionary(hostile, tie("value"), { maxKeys: 6 }),
  ),
})).value;

test("keeps a text that fits, and cuts others to the longest beginning that fits, with an ellipsis", () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 5, max: 120 }), (text, bytes) => {
      const short = boundedCopy(text, { bytes, text: bytes })!;
      assert.ok(jsonBytes(short) <= bytes);
      if (jsonBytes(text) <= bytes) assert.equal(short, text);
      else {
        const kept = short.slice(0, -1);
        const next = String.fromCodePoint(text.codePointAt(kept.length)!);
        assert.ok(short === `${kept}…` && text.startsWith(kept));
        assert.ok(jsonBytes(`${kept}${next}…`) > bytes, "the next character would have had room");
      }
    }),
  );
});

test("a copy never exceeds its limit, and equals the value if that fits", () => {
  fc.assert(
    fc.property(json, fc.integer({ min: 0, max: 400 }), (value, bytes) => {
      const copy = boundedCopy(value, { bytes, text: 80 });
      if (copy !== undefined) assert.ok(jsonBytes(copy) <= bytes);
      const roomy = boundedCopy({ value }, { bytes: 2 ** 20, text: 2 ** 20 });
      assert.equal(JSON.stringify(roomy), JSON.stringify({ value }));
    }),
    { numRuns: 500 },
  );
});
