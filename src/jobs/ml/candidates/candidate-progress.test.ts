import assert from "node:assert/strict";
import { test } from "node:test";
import { CandidateProgress } from "./candidate-progress.ts";

test("fits of dropped candidates are planned no longer, also if no further fit follows", () => {
  const reported: [done: number, total: number | undefined][] = [];
  const progress = new CandidateProgress([4, 4, 4], (done, total) => reported.push([done, total]));
  progress.start(0)(4);
  progress.finish(0);
  for (const c of [1, 2]) progress.start(c)(1);
  progress.drop([2]);
  progress.start(1)(3);
  progress.drop([1]);
  progress.drop([]);
  assert.deepEqual(reported, [
    [4, 12],
    [5, 12],
    [6, 12],
    [6, 9],
    [9, 9],
    [9, 9],
  ]);
});

test("without planned fits, dropping candidates reports nothing", () => {
  const reported: unknown[] = [];
  const progress = new CandidateProgress(undefined, (...counts) => reported.push(counts));
  progress.start(0)(1);
  progress.drop([1]);
  assert.deepEqual(reported, [[1, undefined]]);
});
