import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { area, type Point, polyline } from "./path.ts";

/** How a browser interprets a path of M, l, h0 and z: its points, run by run. */
function pointsOf(path: string): Point[][] {
  return path
    .split("M")
    .slice(1)
    .map((run) => {
      const [first, ...steps] = run
        .replace(/h0|z/, "")
        .match(/-?\d+ ?-?\d+/g)!
        .map(pair);
      const points = [first!];
      for (const [dx, dy] of steps) points.push([points.at(-1)![0] + dx, points.at(-1)![1] + dy]);
      return points;
    });
}

function pair(text: string): Point {
  const [x, y] = text.match(/-?\d+/g)!.map(Number);
  return [x!, y!];
}

const grid = fc.integer({ min: 0, max: 1_000 });

test("a path goes through all points of distinct columns, with its gaps", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(grid, { maxLength: 30 }),
      fc.infiniteStream(fc.option(grid)),
      (columns, rows) => {
        const points = columns
          .sort((a, b) => a - b)
          .map((x): Point | null => {
            const y = rows.next().value!;
            return y === null ? null : [x, y];
          });
        const runs: Point[][] = [];
        for (const [i, point] of points.entries()) {
          if (point === null) continue;
          if (i === 0 || points[i - 1] === null) runs.push([]);
          runs.at(-1)!.push(point);
        }
        assert.deepEqual(pointsOf(polyline(points)), runs);
      },
    ),
  );
});

test("of many points in a column, the first, the extremes and the last remain, in order", () => {
  const crowd = [4, 9, 2, 7, 1, 8, 5].map((y): Point => [3, y]);
  assert.deepEqual(pointsOf(polyline(crowd)), [
    [
      [3, 4],
      [3, 9],
      [3, 1],
      [3, 5],
    ],
  ]);
});

test("a single point is a dot, and no points have no path", () => {
  assert.equal(polyline([[1, -2]]), "M1-2h0");
  assert.equal(polyline([null, null]), "");
  assert.equal(area([]), "");
});

test("an area runs along its top and back along its bottom", () => {
  const columns = [
    { x: 0, top: 1, bottom: 5 },
    { x: 4, top: 2, bottom: 6 },
  ];
  assert.deepEqual(pointsOf(area(columns)), [
    [
      [0, 1],
      [4, 2],
      [4, 6],
      [0, 5],
    ],
  ]);
});
