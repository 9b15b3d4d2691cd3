import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { FitTimings } from "../shared/timings.ts";
import { fitTickers } from "./fit-tickers.ts";

test("tickers that failed before any fit are listed by code point, whatever the order of the blob", async () => {
  const failed = ["b", "10", "A", "9"].map((ticker) => ({
    ticker,
    code: "insufficient_history",
    message: "",
  }));
  const outcome = await fitTickers(
    (async function* () {
      yield* failed;
    })(),
    {
      settings: parseMlSettings('{"ML params": {"model": "ridge"}}').settings,
      // All tickers have failed, so no engine is needed.
      pool: undefined as unknown as EnginePool,
      workers: 1,
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
