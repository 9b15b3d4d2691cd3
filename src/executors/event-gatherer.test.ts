import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonBytes } from "../contract/json/bounded-json.ts";
import { type EpochPoint, epochsSchema } from "../contract/output/job-events.ts";
import { SIZES } from "../contract/schema/answer-limits.ts";
import { EpochPoints, EventGatherer, Pace } from "./event-gatherer.ts";

function point(ticker: string, epoch: number, validation_loss: number | null): EpochPoint {
  return { ticker, epoch, train_loss: 1 / epoch, validation_loss };
}

test("keeps the best and the last of very many epochs for each network, and thins the others evenly", () => {
  const epochs = new EpochPoints();
  for (let epoch = 1; epoch <= 10_000; epoch++) {
    epochs.add(point("A", epoch, Math.abs(epoch - 6_007)));
    epochs.add(point("B", epoch, epoch));
  }
  const { points, left_out } = epochs.bounded()!;
  const of = (name: string) => points.filter(({ ticker }) => ticker === name).map(({ epoch }) => epoch);
  assert.ok(points.length <= 204 && points.length > 100);
  assert.equal(left_out, 20_000 - points.length);
  assert.ok(of("A").includes(6_007) && of("A").includes(10_000));
  assert.ok(of("B").includes(1) && of("B").includes(10_000));
  const even = points.filter(({ ticker, epoch }) => ticker === "A" && ![6_007, 10_000].includes(epoch));
  const gaps = even.slice(1).map(({ epoch }, i) => epoch - even[i]!.epoch);
  assert.ok(Math.max(...gaps) <= 2 * Math.min(...gaps), `${gaps}`);
});

test("stays within its size limit with tickers of any name", () => {
  const ticker = fc.string({ unit: fc.constantFrom("a", "\u0001", '"', "😀"), minLength: 1, maxLength: 256 });
  fc.assert(
    fc.property(fc.array(ticker, { minLength: 1, maxLength: 40 }), fc.nat(60), (names, rounds) => {
      const epochs = new EpochPoints();
      for (let epoch = 1; epoch <= rounds + 1; epoch++) {
        for (const [i, name] of names.entries()) {
          for (let copy = 0; copy < 20; copy++)
            epochs.add(point(`${copy}${name}`, epoch, Math.sin(i * epoch)));
        }
      }
      const told = epochsSchema.parse(epochs.bounded());
      assert.ok(jsonBytes(told) <= SIZES.epochs);
      assert.equal(told.points.length + (told.left_out ?? 0), 20 * names.length * (rounds + 1));
    }),
    { numRuns: 20 },
  );
});

test("counts nothing twice when epochs pass through two gatherers", () => {
  const [first, second] = [new EventGatherer(), new EventGatherer()];
  for (let epoch = 1; epoch <= 3_000; epoch++) {
    first.report({ kind: "progress", stage: "fit", done: epoch, ticker: "A", epoch, train_loss: Number.NaN });
    if (epoch % 1_000 === 0) second.add(first.take()!);
  }
  assert.equal(first.take(), undefined);
  const { epochs, progress } = second.take()!;
  assert.equal(epochs!.points.length + epochs!.left_out!, 3_000);
  assert.deepEqual([epochs!.points[0]!.epoch, epochs!.points.at(-1)!.epoch], [1, 3_000]);
  assert.equal(epochs!.points[0]!.train_loss, null, "it is not finite");
  assert.deepEqual(progress, { stage: "fit", done: 3_000, total: null });
});

test("returns the first 200 failures and warnings of a job and counts all of them", () => {
  const gatherer = new EventGatherer();
  const batches = [];
  for (let i = 0; i < 1_000; i++) {
    const code = i % 4 === 0 ? "diverged" : "fit_failed";
    gatherer.report({ kind: "failure", failure: { ticker: `T${i}`, code, message: "why" } });
    gatherer.report({ kind: "warning", warning: { code: "no_prices", ticker: `U${i}`, message: "why" } });
    if (i % 150 === 0) batches.push(gatherer.take()!);
  }
  batches.push(gatherer.take()!);
  assert.equal(batches.flatMap(({ failures = [] }) => failures).length, 200);
  assert.equal(batches.flatMap(({ warnings = [] }) => warnings).length, 200);
  assert.deepEqual(batches.at(-1), {
    counts: { warnings: { no_prices: 1_000 }, failures: { diverged: 250, fit_failed: 750 } },
  });
});

test("works at most once per pause, not while it works, and once more for what was planned meanwhile", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let begun = 0;
  let work = Promise.withResolvers<void>();
  const pace = new Pace(1_000, () => {
    begun += 1;
    return work.promise;
  });
  const pass = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await new Promise(setImmediate);
    return begun;
  };
  for (let events = 0; events < 10; events++) pace.plan();
  assert.deepEqual([await pass(999), await pass(1)], [0, 1]);
  pace.plan();
  assert.equal(await pass(5_000), 1, "it still works");
  work.resolve();
  work = Promise.withResolvers();
  assert.equal(await pass(0), 2);
  let isStopped = false;
  const stopping = pace.stop().then(() => {
    isStopped = true;
  });
  pace.plan();
  assert.deepEqual([await pass(5_000), isStopped], [2, false]);
  work.resolve();
  await stopping;
});
