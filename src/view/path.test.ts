import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { area, type Point, polyline } from "./path.ts";

/** How a browser interprets a path of M, l, h0 and z: its points, run by run. */
function pointsOf(path: string): Point[][] {
  const runs = path.split("M").slice(1);
  return runs.map((run) => {
    const numbers = run.replace(/h0|z/, "").match(/-?\d+/g)!.map(Number);
    let [x, y] = [0, 0];
    return numbers.flatMap((step, i): Point[] => {
      if (i % 2 === 0) x += step;
      else y += step;
      return i % 2 === 0 ? [] : [[x, y]];
    });
  });
}

test("a path goes through all points of distinct columns, with its gaps", () => {
  const grid = fc.integer({ min: 0, max: 1_000 });
  const property = fc.property(fc.array(fc.option(grid), { maxLength: 30 }), (rows) => {
    const points = rows.map((y, i): Point | null => (y === null ? null : [7 * i, y]));
    const runs: Point[][] = [];
    for (const [i, point] of points.entries()) {
      if (point === null) continue;
      if (i === 0 || points[i - 1] === null) runs.push([]);
      runs.at(-1)!.push(point);
    }
    assert.deepEqual(pointsOf(polyline(points)), runs);
  });
  fc.assert(property);
});

test("of many points in a column, the first, the extremes and the last remain, in order", () => {
  const crowd = [4, 9, 2, 7, 1, 8, 5].map((y): Point => [3, y]);
  assert.deepEqual(
    pointsOf(polyline(crowd))
      .flat()
      .map(([, y]) => y),
    [4, 9, 1, 5],
  );
  assert.deepEqual([polyline([[1, -2]]), polyline([null, null]), area([])], ["M1-2h0", "", ""]);
});

test("an area runs along its top and back along its bottom", () => {
  const columns = [
    { x: 0, top: 1, bottom: 5 },
    { x: 4, top: 2, bottom: 6 },
  ];
  assert.equal(area(columns), "M0 1l4 1 0 4-4-1z");
});
