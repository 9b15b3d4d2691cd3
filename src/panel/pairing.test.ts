import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { noTickerLeft, pairTickers } from "./pairing.ts";

test("tickers in one blob only are warned about, the others ascend by code point", () => {
  const { tickers, warnings } = pairTickers(
    ["\u{1F600}", "b", "10", "X", "9", "__proto__", "\uFF21"],
    ["9", "10", "\u{1F600}", "\uFF21", "Z", "__proto__"],
  );
  assert.deepEqual(tickers, ["10", "9", "__proto__", "\uFF21", "\u{1F600}"]);
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
  const names = fc.uniqueArray(fc.string({ unit: "binary", maxLength: 3 }), { maxLength: 12 });
  const property = fc.property(names, names, (priced, featured) => {
    const paired = pairTickers(priced, featured);
    assert.deepEqual(pairTickers(priced.toReversed(), featured.toReversed()), paired);
    assert.deepEqual(new Set(paired.tickers), new Set(priced.filter((ticker) => featured.includes(ticker))));
  });
  fc.assert(property, { seed: 3 });
});

test("no ticker left is too little history where that is every reason, else all_failed with the reasons", () => {
  const short = { ticker: "B", code: "insufficient_history", message: "12 fit rows" };
  const singular = { ticker: "A", code: "fit_failed", message: "singular" };
  assert.equal(noTickerLeft([]).code, "insufficient_history");
  assert.match(noTickerLeft([]).message, /No ticker is in both/);
  assert.equal(noTickerLeft([short]).code, "insufficient_history");
  assert.equal(noTickerLeft([singular]).code, "all_failed");
  const mixed = noTickerLeft([short, singular]);
  assert.equal(mixed.code, "all_failed");
  assert.deepEqual(mixed.data.failures, [singular, short]);
});

test("prices too far apart end the job under that name where every ticker with enough of them has such", () => {
  const sparse = { ticker: "A", code: "sparse_prices", message: "A has prices 31 calendar days apart" };
  const short = { ticker: "B", code: "insufficient_history", message: "B has 1 fit row" };
  const { code, message } = noTickerLeft([short, sparse]);
  assert.equal(code, "sparse_prices");
  assert.equal(message, "No ticker is left of 2; the first: A has prices 31 calendar days apart");
});
