import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { writeNpy } from "../../engine/npy.ts";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import { type ComparedTickers, type FitPanel, joinShortTickers } from "./panels.ts";

test("a late ticker never has a feature with the name of a z-score, and no feature of its own in a pooled fit", () => {
  const workFolder = mkdtempSync(join(tmpdir(), "mucast-panels-"));
  const days = Int32Array.from({ length: 60 }, (_, i) => 19_000 + i);
  const columns = ["b (z)", "b", "own"];
  // The first row of `own` is missing, so that it would cost a row.
  const values = Float64Array.from({ length: 180 }, (_, i) => (i === 120 ? Number.NaN : i % 7));
  const short = {
    ticker: "late",
    prices: { ticker: "late", days, prices: Float64Array.from(days, (day) => 50 + (day % 5)) },
    features: { ticker: "late", columns, days },
    values: writeNpy(join(workFolder, "short.npy"), values, [3, 60]),
    window: { start: days[0]!, end: days.at(-1)!, cut: days[10]! },
  };
  const early: Pick<ComparedTickers, "panels" | "zScores" | "compare"> = {
    panels: [{ columns: ["b", "b (z)"] } as unknown as FitPanel],
    zScores: new Set(["b (z)"]),
    compare: (panel) => panel,
  };
  const blocks = [...ONE_BLOCK, { from: days[40]!, known: days[40]! }];
  const joinAs = (isPooled: boolean) =>
    joinShortTickers([short], blocks, early, { workFolder, isPreview: true }, "", {
      isPooled,
      listedOf: ({ ticker }) => [{ code: "unscaled_features", ticker }],
    }).map((panel) => [panel.columns, panel.days.length, panel.listed.length]);
  assert.deepEqual(joinAs(false), [[["b", "own"], 59, 1]]);
  assert.deepEqual(joinAs(true), [[["b"], 60, 0]]);
  rmSync(workFolder, { recursive: true });
});
