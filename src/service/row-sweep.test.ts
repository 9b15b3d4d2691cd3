import assert from "node:assert/strict";
import { test } from "node:test";
import { RowSweep } from "./row-sweep.ts";
import { noLog } from "./telemetry/log.ts";

const never = new AbortController().signal;
const ROWS = Array.from({ length: 2_500 }, (_, i) => i);
const next = async (after: number | undefined) => ROWS.filter((row) => row > (after ?? -1)).slice(0, 100);
const parts = { next, log: noLog, fields: (row: number) => ({ row }), failure: "it failed" };

test("a failed row holds up no other row, and the next sweep tries it again", async () => {
  const tried: number[] = [];
  const act = async (row: number) => {
    tried.push(row);
    if (row < 300) throw new Error("refused");
  };
  const sweep = new RowSweep({ ...parts, act });
  assert.equal(await sweep.run(never), 2_200);
  assert.deepEqual(tried, ROWS);
  await sweep.run(never);
  assert.deepEqual(tried, [...ROWS, ...ROWS]);
});

test("a sweep ends after a thousand failures, and the next one continues there", async () => {
  const tried: number[] = [];
  let lines = 0;
  const log = { ...noLog, warn: () => void lines++ };
  const act = async (row: number) => {
    tried.push(row);
    if (row < 2_400) throw new Error("away");
  };
  const sweep = new RowSweep({ ...parts, act, log });
  const done = [await sweep.run(never), await sweep.run(never), await sweep.run(never)];
  assert.deepEqual(done, [0, 0, 100]);
  assert.deepEqual(tried, ROWS);
  assert.ok(lines < 50, `${lines} lines of the log`);
});
