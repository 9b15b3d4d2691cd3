import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rawNumber } from "../../contract/json/json-text.ts";
import { joinedPieces, type OrderedJson, orderedPieces } from "./ordered-json.ts";

const print = (value: OrderedJson) => [...orderedPieces(value)].join("");
/** Below the levels of objects that are separate pieces. */
const deep = (value: OrderedJson) => ({ a: { b: { c: value } } });

test("a Map keeps its order, even for keys that look like numbers or like a prototype", () => {
  const map = new Map([
    ["b", 1],
    ["10", 2],
    ["__proto__", 3],
    ["2", 4],
  ]);
  const text = '{"b":1,"10":2,"__proto__":3,"2":4}';
  assert.equal(print(map), text);
  assert.equal(print(deep(map)), `{"a":{"b":{"c":${text}}}}`);
});

test("prints typed arrays in shortest round-trip form, and raw numbers as they are written", () => {
  assert.equal(print(Float64Array.of(0.1, 1e-7, -2)), "[0.1,1e-7,-2]");
  const members = { a: rawNumber("1.0"), b: undefined };
  assert.equal(print(members), '{"a":1.0}');
  assert.equal(print(deep(members)), '{"a":{"b":{"c":{"a":1.0}}}}');
});

test("what JSON cannot hold throws instead of becoming null", () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => print([value]), TypeError);
    assert.throws(() => print({ a: () => Float64Array.of(value) }), TypeError);
  }
  assert.throws(() => print({ a: [{ b: [new Map()] }] }), TypeError);
});

test("a ticker is one piece at any depth, and so is a warning", () => {
  const entry = { n: 1, by_year: { "2020": { n: 1 } }, dates: ["2020-01-02"] };
  const tickers = new Map(["A", "B", "C"].map((ticker) => [ticker, entry]));
  const document = {
    forecasts: new Map([["A", () => entry]]),
    metrics: {
      intervals: { by_ticker: tickers, other_methods: new Map([["split", { by_ticker: tickers }]]) },
    },
    warnings: [entry, entry],
  };
  const text = JSON.stringify(entry);
  const pieces = [...orderedPieces(document)];
  assert.equal(pieces.filter((piece) => piece === text).length, 1 + 2 * 3 + 2);
  assert.ok(pieces.every((piece) => piece.length <= text.length));
  assert.deepEqual(JSON.parse(pieces.join("")).warnings, [entry, entry]);
});

test("joined pieces are the same text, in pieces of the maximum length if no piece is longer by itself", () => {
  const most = 8;
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 12 })), (pieces) => {
      const joined = [...joinedPieces(pieces, most)];
      assert.equal(joined.join(""), pieces.join(""));
      for (const [i, piece] of joined.entries()) {
        assert.ok(piece.length <= most || pieces.includes(piece));
        const next = joined[i + 1];
        if (next !== undefined) assert.ok(piece.length + next.length > most);
      }
    }),
  );
});
