import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MucastError } from "../errors/errors.ts";
import { isRawNumber, MAX_JSON_DEPTH, parseJson, rawNumber, rawNumbers } from "./json-text.ts";

function refusal(text: string): MucastError {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: `accepted: ${text}` });
}

describe("numbers", () => {
  it("keep their text", () => {
    for (const text of ["1.0", "1E+3", "-0.0", "-0", "9007199254740993", "0.1000", "4.9e-324"]) {
      assert.equal(JSON.stringify(rawNumbers(`{"a":[${text}]}`)), `{"a":[${text}]}`);
      assert.deepEqual(parseJson(`[${text}]`), [Number(text)]);
    }
    const raw = rawNumbers('[1.0, "1.0", null, true, {}]') as unknown[];
    assert.deepEqual(raw.map(isRawNumber), [true, false, false, false, false]);
    assert.equal(JSON.stringify({ added: rawNumber("-1") }), '{"added":-1}');
  });

  it("are refused beyond float64, and as words", () => {
    assert.match(refusal('{"a": 1e999}').message, /line 1, column 7: the number 1e999 is beyond/);
    assert.match(refusal(`[-${"9".repeat(400)}]`).message, /is beyond the range of a float64/);
    for (const word of ["NaN", "Infinity", "-Infinity", "nan", "+inf"])
      assert.ok(refusal(`{"a": ${word}}`).message.includes(`${word} is not JSON`));
  });
});

describe("keys", () => {
  it("finds every key that occurs twice, with its path", () => {
    const { data, code } = refusal('{"a": {"b": [{"c": 1, "d": 2, "c": 3}]}, "e": 1, "e": 1}');
    assert.equal(code, "invalid_request");
    assert.deepEqual(
      data.faults?.map(({ path }) => path),
      ["config.a.b[0].c", "config.e"],
    );
  });

  it("treats __proto__ as a key like any other", () => {
    const parsed = parseJson('{"__proto__": {"x": 1}}') as object;
    assert.deepEqual(Object.keys(parsed), ["__proto__"]);
    assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
    assert.equal(JSON.stringify(rawNumbers('{"__proto__":{"x":1.0}}')), '{"__proto__":{"x":1.0}}');
    assert.equal(refusal('{"__proto__": 1, "__proto__": 2}').data.path, "config.__proto__");
  });
});

describe("syntax", () => {
  const cases: [string, string, RegExp][] = [
    ["a missing value", '{"a":\n  ,}', /line 2, column 3: a JSON value is expected/],
    ["a comma too many", '{"a": 1,}', /column 9: a key in double quotes/],
    ["a text cut short", '{"a": [1', /column 9: a comma or a closing bracket/],
    ["nothing at all", "", /column 1: the text ends too early/],
    ["Python's words", '{"a": True}', /column 7: True is not a JSON value/],
    ["two values", "{} {}", /column 4: text after the end/],
    ["a raw line break in a string", '["a\nb"]', /column 2: a string that is not closed/],
    ["a bad escape", '["\\x"]', /column 2: a string that is not closed, or contains a bad escape/],
  ];
  it("is reported with line and column", () => {
    for (const [name, text, expected] of cases) {
      assert.match(refusal(text).message, expected, name);
      assert.throws(() => JSON.parse(text), SyntaxError);
    }
    const { code, data } = refusal('{\n "a": 1\n "b": 2\n}');
    assert.deepEqual([code, data.line, data.column], ["invalid_request", 3, 2]);
  });

  it("refuses more than MAX_JSON_DEPTH levels, whatever the stack size", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    assert.doesNotThrow(() => parseJson(nested(MAX_JSON_DEPTH)));
    assert.match(refusal(nested(MAX_JSON_DEPTH + 1)).message, /more than 64 levels/);
    assert.match(refusal("[".repeat(1_000_000)).message, /more than 64 levels/);
  });

  it("accepts a byte order mark, which editors on Windows write", () => {
    assert.deepEqual(parseJson('\uFEFF{"a": 1}'), { a: 1 });
  });
});

it("agrees with JSON.parse on every JSON text", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      const expected = JSON.parse(text);
      assert.deepEqual(parseJson(text), expected);
      assert.deepEqual(JSON.parse(JSON.stringify(rawNumbers(text))), expected);
    }),
  );
});

it("accepts no text that JSON.parse refuses, and only fails with its own error", () => {
  const mutated = fc
    .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.constantFrom(..."{}[]\",:0-+.eE\\ \n\tnNatf1x\u0000'"))
    .map(([text, at, mark]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + mark + text.slice(place + (at % 2));
    });
  fc.assert(
    fc.property(mutated, (text) => {
      try {
        parseJson(text);
      } catch (error) {
        assert.ok(error instanceof MucastError, String(error));
        return;
      }
      assert.doesNotThrow(() => JSON.parse(text));
    }),
    { numRuns: 1000 },
  );
});
