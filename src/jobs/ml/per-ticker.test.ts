import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import { FitTimings } from "../shared/timings.ts";
import { fitTickers, planFits, type TickerOptions } from "./per-ticker.ts";

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

/** A fake with the parts of a pool that are used. */
function optionsOf(pool: object, workFolder: string, others: Partial<TickerOptions> = {}): TickerOptions {
  return {
    ...{ settings, pool: pool as EnginePool, workFolder, blocks: ONE_BLOCK, isLast: true },
    signal: new AbortController().signal,
    report: () => undefined,
    device: Promise.resolve("cpu"),
    expectedTickers: 2,
    memoryLimit: undefined,
    timings: new FitTimings({}),
    ...others,
  };
}

for (const [engine, capacity] of Object.entries(CAPACITIES)) {
  test(`a fault of ${engine} aborts the reading, even while its blob stalls, and is thrown`, async () => {
    const workFolder = mkdtempSync(join(tmpdir(), "mucast-fit-"));
    const fault = new Error("the engine's host died twice");
    const trial = Promise.withResolvers<string>();
    const running = fitTickers(
      async function* (signal) {
        yield PANEL;
        trial.reject(fault);
        await once(signal, "abort");
        throw new Error("the reading was aborted");
      },
      // Every fit waits for the trial, which fails.
      optionsOf({ capacity }, workFolder, { device: trial.promise }),
    );
    await assert.rejects(running, fault);
    rmSync(workFolder, { recursive: true });
  });
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
  const outcome = await fitTickers(
    async function* () {
      yield PANEL;
    },
    optionsOf({ capacity: Promise.resolve({ slots: 1 }), run }, workFolder, {
      // Enough tickers that a ticker's fits are one task.
      expectedTickers: 1_000,
      report: (event) => counts.push(event.kind === "progress" ? event.done : -1),
    }),
  );
  assert.equal(outcome.failures[0]?.code, "engine_crashed");
  const { folds, blocks } = planFits(PANEL, settings);
  const fits = [...folds, ...blocks];
  assert.ok(fits.length > 1);
  // The first report says that all tickers are read.
  assert.deepEqual(counts, [0, ...fits.map((_, fit) => fit + 1)]);
  rmSync(workFolder, { recursive: true });
});
