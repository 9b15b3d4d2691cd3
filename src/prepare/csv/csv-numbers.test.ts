import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../../contract/errors/errors.ts";
import { NumberColumn, PRICE_HINTS } from "./csv-numbers.ts";

/** Reads numbers like the reader of a file: with a decimal point, and again with a decimal comma if that turns out to be the mark. */
function numbersOf(...texts: string[]): number[] {
  const under = (mark: "." | ",") => {
    const column = new NumberColumn("p.csv", mark, PRICE_HINTS);
    return { values: texts.map((text, i) => column.take(text, i + 2, "A")), mark: column.mark() };
  };
  const first = under(".");
  if (first.mark === ".") return first.values;
  const second = under(",");
  assert.equal(second.mark, ",");
  return second.values;
}

function refusal(...texts: string[]): string {
  try {
    numbersOf(...texts);
  } catch (error) {
    assert.ok(error instanceof MucastError && error.code === "invalid_data", String(error));
    return error.message;
  }
  return assert.fail(`${texts.join(", ")} was read`);
}

test("reads plain numbers like JavaScript, to the last bit", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }), (values) => {
      assert.deepEqual(
        numbersOf(...values.map(String)),
        values.map((value) => Number(String(value))),
      );
    }),
  );
  assert.deepEqual(
    numbersOf("1.", ".5", "+2", "-3", "1e3", "1.5E-3", " 7 "),
    [1, 0.5, 2, -3, 1000, 0.0015, 7],
  );
});

test("reads cells that mean no price as NaN, in any case", () => {
  for (const text of [
    ...[
      "",
      " ",
      "NA",
      "n/a",
      "#N/A",
      "#N/A N/A",
      "NaN",
      "nan",
      "null",
      "NULL",
      "None",
      "-",
      "--",
      ".",
      "nil",
      "NaT",
    ],
    ...["inf", "-Infinity", "1e999"],
  ]) {
    assert.ok(Number.isNaN(numbersOf(text)[0]), text);
  }
});

test("reads thousands separators if a cell of the file shows the decimal mark", () => {
  assert.deepEqual(numbersOf("1,234.50", "2,345", "12"), [1234.5, 2345, 12]);
  assert.deepEqual(numbersOf("2,345", "0.5"), [2345, 0.5]);
  assert.deepEqual(numbersOf("1,234,567"), [1234567]);
  assert.deepEqual(numbersOf("1.234,50", "2.345", "2,345"), [1234.5, 2345, 2.345]);
  assert.deepEqual(numbersOf("12,5", "1.234", "1,5e1"), [12.5, 1234, 15]);
});

test("points without commas are decimal points, even with three digits after them", () => {
  assert.deepEqual(numbersOf("1.234", "64.561", "1e3"), [1.234, 64.561, 1000]);
});

test("refuses a comma that may be either, and never guesses it", () => {
  assert.match(refusal("5", "1,234"), /"1,234" \(line 3, "A"\)/);
});

test("refuses contradicting decimal marks, with both lines", () => {
  assert.match(refusal("1.5", "1,5"), /line 2.*line 3/);
  assert.match(refusal("1,5", "1,234.5"), /decimal mark/);
});

test("refuses anything else, with its line", () => {
  for (const text of [
    "x",
    "$1.50",
    "1 234",
    "1,23,4.5",
    "1..2",
    "0x10",
    "1_000",
    "12%",
    "1,2,3",
    "e5",
    "NaN1",
  ]) {
    assert.match(refusal("1", text), /line 3, "A"/, text);
  }
});

test("refuses a cell of a megabyte that is almost a number, in linear time", () => {
  // With a pattern in which a digit has two places it takes an hour.
  for (const text of [
    `${"1".repeat(2 ** 20)}x`,
    `1${",111".repeat(2 ** 18)}x`,
    `1${".111".repeat(2 ** 18)},x`,
  ])
    assert.match(refusal("1", text), /line 3, "A"\) is not a number/);
});

test("the faults of a currency sign and of a word say what they are", () => {
  assert.equal(
    refusal("$1.50"),
    'p.csv: "$1.50" (line 2, "A") is not a number; write prices without a currency sign',
  );
  assert.match(
    refusal("EUR"),
    /is not a number; leave out the columns of a wide file that are no ticker's, or name those of a long file /,
  );
  assert.match(refusal("12%"), /is not a number$/);
});
