import assert from "node:assert/strict";
import { test } from "node:test";
import { CoreBudget } from "./dispatcher.ts";

class Job {
  cores: number;

  constructor(budget: CoreBudget) {
    this.cores = budget.next;
    budget.add(this);
  }

  setCores(cores: number): void {
    this.cores = cores;
  }
}

test("a single job has all cores, and gives some back while another one runs", () => {
  const budget = new CoreBudget(5, 2);
  assert.equal(budget.taken, 0);
  const first = new Job(budget);
  assert.deepEqual([first.cores, budget.hasRoom()], [5, true]);
  const second = new Job(budget);
  assert.deepEqual([first.cores, second.cores, budget.hasRoom(), budget.taken], [3, 2, false, 5]);
  budget.remove(first);
  assert.equal(second.cores, 5);
  budget.remove(second);
  assert.equal(budget.taken, 0);
});

test("running jobs have equal shares of all cores, whatever the order in which they start and end", () => {
  for (const cores of [1, 2, 3, 7, 16]) {
    const budget = new CoreBudget(cores, 6);
    const running: Job[] = [];
    for (let step = 0; step < 200; step++) {
      if (budget.hasRoom() && (step * 7) % 5 < 3) running.push(new Job(budget));
      else if (running.length > 0) budget.remove(running.splice((step * 3) % running.length, 1)[0]!);
      const shares = running.map((job) => job.cores);
      const sum = shares.reduce((total, share) => total + share, 0);
      assert.equal(sum, running.length === 0 ? 0 : cores);
      if (shares.length > 0) assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, String(shares));
      assert.ok(running.length <= Math.min(cores, 6));
    }
  }
});
