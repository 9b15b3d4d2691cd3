import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import { FitTimings } from "../shared/timings.ts";
import { fitTickers } from "./fit-tickers.ts";
import { planFits } from "./plan-fits.ts";

const { settings } = parseMlSettings('{"ML params": {"model": "ridge"}}');

/** How much the engine can do at a time; unknown while it connects to a cluster. */
const CAPACITIES = {
  "this machine": Promise.resolve({ slots: 1 }),
  "a cluster that does not answer": new Promise<never>(() => undefined),
};

const DAYS = Int32Array.from({ length: 100 }, (_, i) => i);
const PANEL: TickerPanel = {
  ticker: "a",
  columns: ["f"],
  days: DAYS,
  x: new Float64Array(100),
  y: new Float64Array(100),
  labelDays: DAYS,
  spacing: new Int32Array(100).fill(1),
  volatility: new Float64Array(100),
  fit: DAYS.subarray(0, 90),
  score: DAYS.subarray(90),
  lastPriceDay: 99,
  lastFeatureDay: 99,
  warmUp: { rows: 0, feature: undefined },
  warnings: [],
  counts: {} as TickerPanel["counts"],
};

for (const [engine, capacity] of Object.entries(CAPACITIES)) {
  test(`a fault of ${engine} aborts the reading, even while its blob stalls, and is thrown`, async () => {
    const workFolder = mkdtempSync(join(tmpdir(), "mucast-fit-"));
    const fault = new Error("the engine's host died twice");
    const trial = Promise.withResolvers<void>();
    const running = fitTickers(
      async function* (signal) {
        yield PANEL;
        trial.reject(fault);
        await once(signal, "abort");
        throw new Error("the reading was aborted");
      },
      {
        settings,
        // Every fit waits for the trial, which fails. A fake with the parts of a pool that are used.
        pool: { capacity } as unknown as EnginePool,
        workFolder,
        signal: new AbortController().signal,
        trial: trial.promise,
        expectedTickers: 2,
        timings: new FitTimings({}),
        onFits: () => undefined,
      },
    );
    await assert.rejects(running, fault);
    rmSync(workFolder, { recursive: true });
  });
}

/** Fits one ticker in a single task on a fake with the parts of a pool that are used. */
function fitPanel(
  run: unknown,
  workFolder: string,
  onFits: Parameters<typeof fitTickers>[1]["onFits"] = () => undefined,
) {
  return fitTickers(
    async function* () {
      yield PANEL;
    },
    {
      settings,
      pool: { capacity: Promise.resolve({ slots: 1 }), run } as unknown as EnginePool,
      workFolder,
      signal: new AbortController().signal,
      trial: Promise.resolve(),
      // Enough tickers that a ticker's fits are one task.
      expectedTickers: 1_000,
      timings: new FitTimings({}),
      onFits,
    },
  );
}

test("fits that a second attempt reports again count once", async () => {
  const workFolder = mkdtempSync(join(tmpdir(), "mucast-fit-"));
  // The worker dies after all fits but the last, the next one after the last. In a real pool it is a race whether a worker dies before or
  // after its report; this fake decides it.
  const run: EnginePool["run"] = async (task, { onProgress } = {}) => {
    if (task.task !== "fit_predict") throw new Error(`no fits: ${task.task}`);
    const told = task.fits.map(
      (_, fit) => ({ fit, seconds: 0 }) as Parameters<NonNullable<typeof onProgress>>[0],
    );
    for (const progress of [...told.slice(0, -1), ...told]) onProgress?.(progress);
    throw new MucastError("engine_crashed", "the worker died 2 times");
  };
  const counts: number[] = [];
  const outcome = await fitPanel(run, workFolder, ({ done }) => counts.push(done));
  assert.equal(outcome.failures[0]?.code, "engine_crashed");
  const { fits } = planFits(PANEL, settings);
  assert.ok(fits.length > 1);
  // The first report says that all tickers are read.
  assert.deepEqual(counts, [0, ...fits.map((_, fit) => fit + 1)]);
  rmSync(workFolder, { recursive: true });
});

test("lists tickers that failed before any fit by code point, whatever the order of the blob", async () => {
  const failed = ["b", "10", "A", "9"].map((ticker) => ({
    ticker,
    code: "insufficient_history",
    message: "",
  }));
  const outcome = await fitTickers(
    async function* () {
      yield* failed;
    },
    {
      settings,
      // All tickers have failed, so no engine is needed.
      pool: undefined as unknown as EnginePool,
      workFolder: "",
      signal: new AbortController().signal,
      trial: Promise.resolve(),
      expectedTickers: 4,
      timings: new FitTimings({}),
      onFits: () => undefined,
    },
  );
  assert.deepEqual(
    outcome.failures.map(({ ticker }) => ticker),
    ["10", "9", "A", "b"],
  );
  assert.deepEqual(outcome.fitted, []);
});
