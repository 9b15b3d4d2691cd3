import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { unpairedTickers } from "./read-inputs.ts";

test("warns about tickers in only one blob, ascending by code point", () => {
  const warnings = unpairedTickers(
    ["\u{1F600}", "b", "10", "X", "9", "__proto__", "\uFF21"],
    ["9", "10", "\u{1F600}", "\uFF21", "Z", "__proto__"],
  );
  assert.deepEqual(
    warnings.map(({ code, ticker }) => [code, ticker]),
    [
      ["no_features", "X"],
      ["no_prices", "Z"],
      ["no_features", "b"],
    ],
  );
});

test("the order in which the blobs name tickers does not matter", () => {
  const name = fc.array(fc.nat(0x10ffff), { maxLength: 3 }).map((points) => String.fromCodePoint(...points));
  const names = fc.uniqueArray(name, { maxLength: 12 });
  const property = fc.property(names, names, (priced, featured) => {
    const warnings = unpairedTickers(priced, featured);
    assert.deepEqual(unpairedTickers(priced.toReversed(), featured.toReversed()), warnings);
    const named = new Set(warnings.map(({ ticker }) => ticker!));
    for (const ticker of [...priced, ...featured]) {
      assert.equal(named.has(ticker), !(priced.includes(ticker) && featured.includes(ticker)));
    }
  });
  fc.assert(property, { seed: 3 });
});
