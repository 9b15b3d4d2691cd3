import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { ExecutionEvent, Progress } from "../../contract/output/job-events.ts";
import { EventLimiter } from "./event-limiter.ts";

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

test("epochs are sent once a second at most, progress ten times a second and without them", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const events: ExecutionEvent[] = [];
  const limiter = new EventLimiter((event) => events.push(event));
  for (const [at, nth] of [
    [0, 1],
    [99, 2],
    [100, 3],
    [101, 4],
  ] as const) {
    now = at;
    limiter.report(epoch("A", nth));
  }
  const progress = (done: number) => ({ kind: "progress", stage: "fit", done, total: 9 });
  assert.deepEqual(events, [progress(1), progress(3)]);
  mock.timers.tick(999);
  assert.equal(events.length, 2);
  mock.timers.tick(1);
  const losses = { train_loss: 1, validation_loss: 2 };
  const points = [1, 2, 3, 4].map((epoch) => ({ ticker: "A", epoch, ...losses }));
  assert.deepEqual(events.slice(2), [{ kind: "epochs", epochs: { points } }]);
  limiter.report(epoch("B", 9));
  assert.deepEqual(events.at(-1), progress(9), "the last of a stage is always sent");
  limiter.report({ kind: "progress", stage: "evaluate", done: 0 });
  assert.deepEqual(events.at(-1), { kind: "progress", stage: "evaluate", done: 0 }, "and the first");
  limiter.flush();
  assert.deepEqual(events.at(-1), {
    kind: "epochs",
    epochs: { points: [{ ticker: "B", epoch: 9, ...losses }] },
  });
  mock.timers.tick(5_000);
  assert.equal(events.length, 6);
});

test("the first 200 failures and warnings are sent, and all are counted", () => {
  const events: ExecutionEvent[] = [];
  const limiter = new EventLimiter((event) => events.push(event));
  for (let i = 0; i < 1_000; i++) {
    const code = i % 4 === 0 ? "diverged" : "fit_failed";
    limiter.report({ kind: "failure", failure: { ticker: `T${i}`, code, message: "why" } });
    limiter.report({ kind: "warning", warning: { code: "no_prices", ticker: `U${i}`, message: "why" } });
  }
  limiter.flush();
  assert.equal(events.filter(({ kind }) => kind === "failure").length, 200);
  assert.equal(events.filter(({ kind }) => kind === "warning").length, 200);
  assert.deepEqual(events.at(-1), {
    kind: "counts",
    warnings: { no_prices: 1_000 },
    failures: { diverged: 250, fit_failed: 750 },
  });
});
