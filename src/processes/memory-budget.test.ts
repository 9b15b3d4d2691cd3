import assert from "node:assert/strict";
import { test } from "node:test";
import { type MemoryFacts, outOfMemory } from "../engine/process-memory.ts";
import { type BudgetedProcess, MemoryBudget } from "./memory-budget.ts";

const MIB = 2 ** 20;

/** A fake process that holds as much memory as a test says. */
class FakeProcess implements BudgetedProcess {
  /** The facts of each call; a process is killed only once. */
  readonly kills: MemoryFacts[] = [];
  readonly hasJob: boolean;
  /** Whether it was stopped because it only waits. */
  isEnded = false;
  size: number;

  constructor(size: number, hasJob = true) {
    this.size = size;
    this.hasJob = hasJob;
  }

  held(): number {
    return this.size * MIB;
  }

  onOverLimit(facts: MemoryFacts): void {
    this.kills.push(facts);
    this.size = 0;
  }
}

function budgetOf(...processes: FakeProcess[]): MemoryBudget {
  const stopWaiting = () => {
    const waiting = processes.filter(({ hasJob, isEnded }) => !hasJob && !isEnded);
    for (const one of waiting) one.isEnded = true;
    return waiting;
  };
  return new MemoryBudget({ limitBytes: 1_000 * MIB, processes: () => processes, stopWaiting });
}

test("kills the job furthest over its share after two measurements over the budget in a row, with the figures in its error", () => {
  const [small, large] = [new FakeProcess(300), new FakeProcess(800)];
  const budget = budgetOf(small, large);
  budget.measure();
  assert.equal(large.kills.length, 0);
  budget.measure();
  assert.deepEqual([small.kills.length, large.kills.length], [0, 1]);
  const error = outOfMemory(large.kills[0]!);
  assert.equal(error.code, "out_of_memory");
  assert.equal(
    error.message,
    "the job's processes held 800 MiB of memory, and all job processes together 1100 MiB, over the limit of 1000 MiB; " +
      "its share was 500 MiB, as one of 2",
  );
  assert.deepEqual(error.data, {
    held_bytes: 800 * MIB,
    limit_bytes: 1_000 * MIB,
    share_bytes: 500 * MIB,
    jobs: 2,
  });
  budget.measure();
  assert.equal(small.kills.length, 0);
});

test("kills no other job while a killed one still returns its memory", () => {
  const [small, large] = [new FakeProcess(600), new FakeProcess(700)];
  const budget = budgetOf(small, large);
  budget.measure();
  budget.measure();
  large.size = 500;
  for (let i = 0; i < 3; i++) budget.measure();
  assert.deepEqual([small.kills.length, large.kills.length], [0, 1]);
});

test("kills nothing that exceeds the budget only for a moment", () => {
  const job = new FakeProcess(1_100);
  const budget = budgetOf(job);
  budget.measure();
  job.size = 900;
  budget.measure();
  job.size = 1_100;
  budget.measure();
  assert.equal(job.kills.length, 0);
});

test("stops waiting processes before it kills a job, and spares the job while they return their memory", () => {
  const [job, waiting] = [new FakeProcess(950), new FakeProcess(100, false)];
  const budget = budgetOf(job, waiting);
  budget.measure();
  assert.equal(waiting.isEnded, false);
  for (let i = 0; i < 4; i++) budget.measure();
  assert.deepEqual([waiting.isEnded, job.kills.length], [true, 0]);
  job.size = 1_001;
  budget.measure();
  budget.measure();
  assert.equal(job.kills.length, 1);
});
