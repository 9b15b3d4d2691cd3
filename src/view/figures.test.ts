import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  bandFigure,
  countedRows,
  figure,
  figureDifference,
  muRange,
  signedFigure,
  typesetFigures,
} from "./figures.ts";

const plain = (text: string) => text.replaceAll("\u2212", "-").replaceAll("\u202f", " ").replaceAll(",", "");

test("figures have the decimals of their unit or four significant digits, their unit, and a sign if they may be negative", () => {
  const cases: readonly [number | null, Parameters<typeof figure>[1], string][] = [
    [0.0123456, "number", "0.01235"],
    [-0.0014811, "number", "\u22120.001481"],
    [0.99999, "number", "1.000"],
    [1234.56, "number", "1,235"],
    [0, "number", "0"],
    [0.5144952, "share", "51.4\u202f%"],
    [0.0005169, "share", "0.05169\u202f%"],
    [12.345, "share", "1,234.5\u202f%"],
    [1, "share", "100.0\u202f%"],
    [0.0005169, "return", "+0.052\u202f%"],
    [-0.01207, "return", "\u22121.207\u202f%"],
    [4.33123, "return", "+433.1\u202f%"],
    [-0.00001, "sum", "0.0"],
    [145.12, "sum", "145.1"],
    [0.96451, "ratio", "0.965"],
    [0, "return", "0.000\u202f%"],
    [20_120, "count", "20,120"],
    [1e12, "number", "1.000e+12"],
    [-3e-9, "number", "\u22123.000e\u22129"],
    [null, "number", "\u2013"],
    [Number.NaN, "share", "\u2013"],
    [Number.POSITIVE_INFINITY, "count", "\u2013"],
    [1e308, "return", "\u2013"],
    [0.02149, "ic", "+0.021"],
    [-0.0004, "ic", "0.000"],
    [-0.0006, "ic", "\u22120.001"],
    [0.0012345, "r2", "+0.12\u202f%"],
    [-12.3, "r2", "\u22121,230.00\u202f%"],
    [0.89951, "coverage", "90.0\u202f%"],
    [-0.001234, "mu", "\u221212.3\u202fbp"],
    [0, "mu", "0.0\u202fbp"],
    [1e9, "mu", "1.000e+13\u202fbp"],
    [null, "r2", "\u2013"],
  ];
  for (const [value, unit, text] of cases) assert.equal(figure(value, unit), text);
});

test("a difference has the decimals of its unit, and its sign", () => {
  assert.equal(signedFigure(-0.00754, "coverage"), "\u22120.8\u202f%");
  assert.equal(signedFigure(-0.0002, "coverage"), "0.0\u202f%");
  assert.equal(signedFigure(0.021, "ic"), "+0.021");
});

test("the difference of two compared figures has one decimal more than they have", () => {
  assert.equal(figureDifference(0.0344 - 0.0116, "ic"), "+0.0228");
  assert.equal(figureDifference(0.0114 - 0.0116, "ic"), "\u22120.0002");
  assert.equal(figureDifference(0.000012, "coverage"), "0.00\u202f%");
  assert.equal(figureDifference(Number.NaN, "ic"), "\u2013");
});

test("a figure equals its number, to four significant digits", () => {
  const property = fc.property(fc.double({ min: -1e300, max: 1e300, noNaN: true }), (value) => {
    const back = Number(plain(figure(value, "number")));
    assert.ok(Math.abs(back - value) <= 5.0001e-4 * Math.abs(value), `${value}: ${figure(value, "number")}`);
  });
  fc.assert(property, { seed: 1, numRuns: 500 });
});

test("counts have their noun, and bands have both ends", () => {
  assert.equal(countedRows(1, "row"), "1 row");
  assert.equal(countedRows(1_006, "date"), "1,006 dates");
  assert.equal(plain(bandFigure({ low: -0.1, high: 0.2 }, "return")), "-10.0 % to +20.0 %");
});

test("a range of forecasts names its unit once, also if an end does not exist", () => {
  assert.equal(muRange(-0.00015, 0.0002), "\u22121.5 to +2.0\u202fbp");
  assert.equal(muRange(null, 0.0002), "\u2013 to +2.0\u202fbp");
  assert.equal(muRange(-0.00015, null), "\u22121.5\u202fbp to \u2013");
});

test("a sentence of an output has the minus sign and the percent sign of the other figures", () => {
  assert.equal(
    typesetFigures("Sizes: worse than zero (R² -2.97% against zero, t = -0.26) until 2020-01-02."),
    "Sizes: worse than zero (R² \u22122.97\u202f% against zero, t = \u22120.26) until 2020-01-02.",
  );
});
