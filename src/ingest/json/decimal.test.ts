import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { scanNumber } from "./decimal.ts";

/** How the reader reads a single number: the value and the number of bytes. */
function scan(text: string): { value: number; read: number } {
  const out = new Float64Array(1);
  const read = scanNumber(Buffer.concat([Buffer.from(text), Buffer.alloc(8)]), 0, out, 0);
  return { value: out[0]!, read };
}

function oracle(text: string): number {
  const value = JSON.parse(text) as number;
  return Number.isFinite(value) ? value : Number.NaN;
}

function assertExact(text: string): void {
  const { value, read } = scan(text);
  assert.equal(read, text.length, text);
  assert.ok(Object.is(value, oracle(text)), `${text}: ${value} instead of ${oracle(text)}`);
}

const digits = (minLength: number, maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength, maxLength }).map((list) => list.join(""));
const integerPart = fc.oneof(
  fc.constant("0"),
  digits(0, 25).map((text) => `7${text}`),
);
const numberText = fc
  .tuple(
    fc.constantFrom("", "-"),
    integerPart,
    fc.option(digits(1, 30), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom("e", "E"), fc.constantFrom("", "+", "-"), digits(1, 3)), {
      nil: undefined,
    }),
  )
  .map(([sign, whole, fraction, power]) =>
    [sign, whole, fraction === undefined ? "" : `.${fraction}`, ...(power ?? [])].join(""),
  );

describe("a number of the blob", () => {
  it("is the float64 that JSON.parse returns, on hard cases", () => {
    const hard = [
      ["0", "-0", "0.0", "-0.0e5", "0e999", "0.00000000000000000000000000000000000"],
      ["5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "4.9406564584124654e-324"],
      [
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
      ],
      [
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740994",
        "9007199254740995e0",
      ],
      ["90071992547409930e-1", "900719925474099300", "18014398509481986e1", "123456789012345678.5"],
      ["1e22", "1e23", "8.5e22", "123456789e-22", "123456789012345678e64", "123456789012345678e-64"],
      ["1e999", "-1e999", "1e-999", "-1e-999", `1${"0".repeat(400)}`, `0.${"0".repeat(400)}1`],
      ["0.1", "0.30000000000000004", "3.141592653589793", "179769313486231570000000000000000000000e270"],
      ["7205759403792793200001e-20", "100000000000000016777215", "100000000000000016777216"],
      ["4.35", "2.675", "1.005", "0.000001", "1e-7", "999999999", "9999999999", "999999999.999999999"],
    ].flat();
    for (const text of hard) assertExact(text);
  });

  it("is the float64 that was printed, for every float64", () => {
    const bits = new DataView(new ArrayBuffer(8));
    const anyDouble = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((pattern) => {
      bits.setBigUint64(0, pattern);
      return bits.getFloat64(0);
    });
    fc.assert(
      fc.property(anyDouble, fc.double({ noNaN: true, noDefaultInfinity: true }), (wild, tame) => {
        for (const value of [wild, tame]) {
          if (!Number.isFinite(value)) continue;
          assert.ok(Object.is(scan(`${Object.is(value, -0) ? "-0" : value}`).value, value));
          assertExact(value.toExponential(16));
        }
      }),
      { numRuns: 5000 },
    );
  });

  it("is the float64 that JSON.parse returns, whatever the digits", () => {
    fc.assert(fc.property(numberText, assertExact), { numRuns: 5000 });
  });

  it("is refused, at the byte that breaks the grammar, if JSON.parse refuses it", () => {
    const broken: [string, number][] = [
      ["-", 1],
      ["-x", 1],
      [".5", 0],
      ["+1", 0],
      ["1.", 2],
      ["1.e5", 2],
      ["1e", 2],
      ["1e+", 3],
      ["-.5", 1],
    ];
    for (const [text, at] of broken) assert.equal(~scan(text).read, at, text);
  });

  it("ends before the first byte that cannot belong to it", () => {
    for (const text of ["01", "1x", "1.5.5", "1e5e5", "--1", "1-1"]) {
      const { read } = scan(text);
      assert.ok(read < text.length, text);
    }
  });
});
