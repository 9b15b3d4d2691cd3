import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import { compareTickers, type FitPanel, isForecast, joinLate, readTickers } from "./panels.ts";

test("a late ticker joins the first block that gives it 30 rows, with the features that it had by its 30th", async () => {
  const workFolder = mkdtempSync(join(tmpdir(), "mucast-panels-"));
  const days = Int32Array.from({ length: 60 }, (_, i) => 19_000 + i);
  // `young` has its first value on row 45, which would cost the rows before.
  const values = Float64Array.from({ length: 120 }, (_, i) => (i >= 60 && i < 105 ? Number.NaN : i % 7));
  const input = {
    ticker: "late",
    prices: { ticker: "late", days, prices: Float64Array.from(days, (day) => 50 + (day % 5)) },
    features: { ticker: "late", columns: ["old", "young"], days, values },
    window: { start: days[0]!, end: days.at(-1)!, cut: days[10]! },
  };
  async function* read() {
    yield { ticker: "late", code: "insufficient_history", message: "", input } as const;
  }
  const { signal } = new AbortController();
  const store = { workFolder, isPreview: false };
  const settings = { delay: 0, target: "return", cross_section: false } as const;
  const tickers = await readTickers(read(), store, { refit_every: 20 }, signal, () => []);
  const compared = compareTickers(tickers, settings, store, "", true);
  const blocks = [...ONE_BLOCK, ...[20, 40, 50].map((row) => ({ from: days[row]!, known: days[row]! }))];
  const [panel, ...others] = joinLate(compared, tickers.late, blocks).panels;
  assert.deepEqual([others, panel!.columns, panel!.joins], [[], ["old"], days[40]]);
  assert.deepEqual([panel!.fit.length, panel!.score[0], panel!.x.shape], [40, 40, [60, 1]]);
  // A model of all tickers learns from it, even if its rows end before it joins.
  const ended = {
    ...tickers.late[0]!,
    days: days.map((day) => day - 45),
    labelDays: days.map((day) => day - 44),
  };
  const [learned] = joinLate(compared, [ended], blocks).panels;
  assert.deepEqual([learned!.fit.length, learned!.score.length, isForecast(learned!)], [59, 0, false]);
  rmSync(workFolder, { recursive: true });
});

test("no feature, not even of a late ticker, has the name of a z-score", () => {
  const panel = (ticker: string, columns: string[]) => ({ ticker, columns }) as unknown as FitPanel;
  const panels = ["A", "B", "C", "D", "E"].map((ticker) => panel(ticker, ["a"]));
  const read = { panels, failures: [], late: [panel("L", ["a (z)"])] };
  const settings = { delay: 0, target: "return", cross_section: true } as const;
  const compare = () => compareTickers(read, settings, { workFolder: "", isPreview: true }, "", true);
  assert.throws(compare, { code: "invalid_data", message: /"a \(z\)" has the name/ });
});
