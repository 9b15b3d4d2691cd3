import assert from "node:assert/strict";
import { test } from "node:test";
import { gainOverZero } from "./tickers.ts";

test("the gain over the zero forecast sums squared returns minus squared errors, over the labelled rows", () => {
  const realised = Float64Array.of(0.02, Number.NaN, -0.01);
  const predicted = Float64Array.of(0.01, 0.5, 0.01);
  const [first, second] = gainOverZero({ realised, predicted });
  assert.ok(Math.abs(first! - (0.0004 - 0.0001)) < 1e-15);
  assert.ok(Math.abs(second! - (0.0003 + 0.0001 - 0.0004)) < 1e-15);
  assert.equal(gainOverZero({ realised, predicted: predicted.fill(1e200) }).length, 0);
});
