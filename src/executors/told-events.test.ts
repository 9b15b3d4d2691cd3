import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { ExecutionEvent, Progress } from "../contract/api/job-events.ts";
import { ToldEvents } from "./told-events.ts";

function epoch(ticker: string, epoch: number): Progress {
  return {
    kind: "progress",
    stage: "fit",
    done: epoch,
    total: 9,
    ticker,
    epoch,
    train_loss: 1,
    validation_loss: 2,
  };
}

test("epochs are told once a second at most, progress at once and without them", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const events: ExecutionEvent[] = [];
  const told = new ToldEvents((event) => events.push(event));
  told.report(epoch("A", 1));
  told.report(epoch("A", 2));
  assert.deepEqual(events, [
    { kind: "progress", stage: "fit", done: 1, total: 9 },
    { kind: "progress", stage: "fit", done: 2, total: 9 },
  ]);
  mock.timers.tick(999);
  assert.equal(events.length, 2);
  mock.timers.tick(1);
  const losses = { train_loss: 1, validation_loss: 2 };
  const points = [1, 2].map((epoch) => ({ ticker: "A", epoch, ...losses }));
  assert.deepEqual(events.slice(2), [{ kind: "epochs", epochs: { points } }]);
  told.report(epoch("B", 1));
  told.end();
  assert.deepEqual(events.at(-1), {
    kind: "epochs",
    epochs: { points: [{ ticker: "B", epoch: 1, ...losses }] },
  });
  mock.timers.tick(5_000);
  assert.equal(events.length, 5);
});

test("the first 200 failures and warnings are told, and all are counted", () => {
  const events: ExecutionEvent[] = [];
  const told = new ToldEvents((event) => events.push(event));
  for (let i = 0; i < 1_000; i++) {
    const code = i % 4 === 0 ? "diverged" : "fit_failed";
    told.report({ kind: "failure", failure: { ticker: `T${i}`, code, message: "why" } });
    told.report({ kind: "warning", warning: { code: "no_prices", ticker: `U${i}`, message: "why" } });
  }
  told.end();
  assert.equal(events.filter(({ kind }) => kind === "failure").length, 200);
  assert.equal(events.filter(({ kind }) => kind === "warning").length, 200);
  assert.deepEqual(events.at(-1), {
    kind: "counts",
    warnings: { no_prices: 1_000 },
    failures: { diverged: 250, fit_failed: 750 },
  });
});
