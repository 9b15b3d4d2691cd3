import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readNpyRows, writeNpy } from "../../engine/npy.ts";
import { columnsOnDisk, type PanelOnDisk } from "./panel-files.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-panels-"));
after(() => rmSync(folder, { recursive: true }));

test("a panel keeps some of its columns, and counts its z-scores among them", () => {
  const x = writeNpy(join(folder, "x.npy"), Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8), [2, 4]);
  const columns = ["f", "own", "f (z)", "own (z)"];
  const panel = { ticker: "A", columns, zScores: 2, days: Int32Array.of(5, 6), x } as unknown as PanelOnDisk;
  const kept = columnsOnDisk(panel, new Set(["f (z)", "f", "g"]), join(folder, "kept.npy"));
  assert.deepEqual([kept.columns, kept.zScores], [["f", "f (z)"], 1]);
  assert.deepEqual([...readNpyRows(kept.x, 0, 2)], [1, 3, 5, 7]);
  assert.equal(columnsOnDisk(panel, new Set([...columns, "g"]), join(folder, "all.npy")), panel);
});
