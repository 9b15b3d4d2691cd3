import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { histogram } from "./histogram.ts";

test("every value is in the bin that counts it, and the bins have one round width", () => {
  const value = fc.oneof(
    fc.double({ min: -3, max: 3, noNaN: true }),
    fc.constantFrom(0, 0.1, -0.2),
    fc.double({ min: -1e-5, max: 1e-5, noNaN: true }),
    fc.constantFrom(5e-324, 1, 1 + Number.EPSILON),
  );
  const property = fc.property(fc.array(value, { minLength: 1, maxLength: 200 }), (list) => {
    const { edges, counts } = histogram(Float64Array.from(list));
    assert.equal(edges.length, counts.length + 1);
    assert.ok(counts.length <= 42, `${counts.length} bins`);
    for (const [bin, count] of counts.entries()) {
      const isLast = bin === counts.length - 1;
      const [from, to] = [edges[bin]!, edges[bin + 1]!];
      assert.ok(from < to);
      assert.equal(count, list.filter((x) => x >= from && (x < to || (isLast && x === to))).length);
    }
    assert.equal(
      counts.reduce((a, b) => a + b, 0),
      list.length,
    );
  });
  fc.assert(property, { seed: 1, numRuns: 300 });
});

test("equal values give one bin around them, and no values give none", () => {
  assert.deepEqual([...histogram(Float64Array.of(2, 2, 2)).edges], [1, 3]);
  assert.deepEqual([...histogram(Float64Array.of(0, -0)).counts], [2]);
  assert.equal(histogram(new Float64Array(0)).counts.length, 0);
});

test("values that differ only in their last digits, or whose range exceeds float64, give one bin", () => {
  for (const values of [
    [1, 1 + Number.EPSILON],
    [-1e308, 1e308],
    [0, 5e-324],
  ]) {
    const { edges, counts } = histogram(Float64Array.from(values));
    assert.deepEqual([...counts], [2]);
    assert.ok(edges[0]! <= values[0]! && values[1]! <= edges[1]!);
  }
});
