import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { writeNpy } from "../../engine/npy.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import { FitTimings } from "../shared/timings.ts";
import { planPerTicker } from "./per-ticker.ts";

const { settings } = parseMlSettings('{"ML params": {"model": "ridge"}}');

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
};

test("fits that a second attempt reports again count once", async () => {
  const workFolder = mkdtempSync(join(tmpdir(), "mucast-fit-"));
  // A fake pool: the worker dies after all fits but the last, the next one after the last. In a real pool it is a race whether a worker dies
  // before or after its report.
  const run: EnginePool["run"] = async (task, { onProgress } = {}) => {
    if (task.task !== "fit_predict") throw new Error(`no fits: ${task.task}`);
    const told = task.fits.map(
      (_, fit) => ({ fit, seconds: 0 }) as Parameters<NonNullable<typeof onProgress>>[0],
    );
    for (const progress of [...told.slice(0, -1), ...told]) onProgress?.(progress);
    throw new MucastError("engine_crashed", "the worker died 2 times");
  };
  const counts: number[] = [];
  const x = writeNpy(join(workFolder, "x.npy"), new Float64Array(100), [100, 1]);
  const { fits, collect } = planPerTicker([{ ...PANEL, x, listed: [] }], settings, ONE_BLOCK);
  const outcome = await collect({
    ...{ pool: { capacity: Promise.resolve({ slots: 1 }), run } as unknown as EnginePool, workFolder },
    ...{ device: "cpu", memoryLimit: undefined, isLast: true },
    signal: new AbortController().signal,
    timings: new FitTimings({}),
    report: (event) => counts.push(event.kind === "progress" ? event.done : -1),
  });
  assert.equal(outcome.failures[0]?.code, "engine_crashed");
  assert.ok(fits > 1);
  assert.deepEqual(counts, [0, ...Array.from({ length: fits }, (_, fit) => fit + 1)]);
  rmSync(workFolder, { recursive: true });
});
