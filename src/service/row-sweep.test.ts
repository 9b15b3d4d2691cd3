import assert from "node:assert/strict";
import { test } from "node:test";
import { RowSweep } from "./row-sweep.ts";
import { noLog } from "./telemetry/log.ts";

const never = new AbortController().signal;
const ROWS = Array.from({ length: 2_500 }, (_, i) => i);
const next = async (after: number | undefined) => ROWS.filter((row) => row > (after ?? -1)).slice(0, 100);
const parts = { next, log: noLog, shown: (row: number) => ({ row }), failure: "it failed" };

test("a row that fails keeps no other back, and is tried again in the next round", async () => {
  const tried: number[] = [];
  const act = async (row: number) => {
    tried.push(row);
    if (row < 300) throw new Error("refused");
  };
  const rounds = new RowSweep({ ...parts, act });
  assert.equal(await rounds.go(never), 2_200);
  assert.deepEqual(tried, ROWS);
  await rounds.go(never);
  assert.deepEqual(tried, [...ROWS, ...ROWS]);
});

test("a round breaks off after a thousand failures, and the next goes on where it did", async () => {
  const tried: number[] = [];
  let told = 0;
  const log = { ...noLog, warn: () => void told++ };
  const act = async (row: number) => {
    tried.push(row);
    if (row < 2_400) throw new Error("away");
  };
  const rounds = new RowSweep({ ...parts, act, log });
  const done = [await rounds.go(never), await rounds.go(never), await rounds.go(never)];
  assert.deepEqual(done, [0, 0, 100]);
  assert.deepEqual(tried, ROWS);
  assert.ok(told < 50, `${told} lines of the log`);
});

test("a round ends before the next row once it is stopped", async () => {
  const stop = new AbortController();
  const tried: number[] = [];
  const act = async (row: number) => {
    tried.push(row);
    stop.abort();
  };
  assert.equal(await new RowSweep({ ...parts, act }).go(stop.signal), 1);
  assert.deepEqual(tried, [0]);
});
