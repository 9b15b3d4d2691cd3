import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import { FitTimings } from "../shared/timings.ts";
import { fitTickers } from "./fit-tickers.ts";

const { settings } = parseMlSettings('{"ML params": {"model": "ridge"}}');

/** How much the engine does at a time; of a cluster that is being connected to it is not known yet. */
const CAPACITIES = {
  "this machine": Promise.resolve({ slots: 1 }),
  "a cluster that does not answer": new Promise<never>(() => undefined),
};

for (const [engine, capacity] of Object.entries(CAPACITIES)) {
  test(`a fault of ${engine} aborts the reading, also while its blob stalls, and is thrown`, async () => {
    const workFolder = mkdtempSync(join(tmpdir(), "mucast-fit-"));
    const fault = new Error("the engine's host died twice");
    const trial = Promise.withResolvers<void>();
    const days = Int32Array.from({ length: 40 }, (_, i) => i);
    const panel: TickerPanel = {
      ticker: "a",
      columns: ["f"],
      days,
      x: new Float64Array(40),
      y: new Float64Array(40),
      labelDays: days,
      volatility: new Float64Array(40),
      fit: days.subarray(0, 30),
      score: days.subarray(30),
      lastPriceDay: 39,
      lastFeatureDay: 39,
      warmUp: { rows: 0, feature: undefined },
      warnings: [],
      counts: {} as TickerPanel["counts"],
    };
    const running = fitTickers(
      async function* (signal) {
        yield panel;
        trial.reject(fault);
        await once(signal, "abort");
        throw new Error("the reading was aborted");
      },
      {
        settings,
        // Every fit waits for the trial, which fails.
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

test("tickers that failed before any fit are listed by code point, whatever the order of the blob", async () => {
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
