import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseDlSettings } from "../../contract/config/dl-settings.ts";
import { readNpy, writeNpy } from "../../engine/npy.ts";
import type { TrainJointTask, TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import type { FitPanel } from "../shared/panels.ts";
import { forecastBlock } from "./collect-networks.ts";
import { planJointNetworks } from "./joint.ts";
import { planPerTicker } from "./per-ticker.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-networks-"));
after(() => rmSync(folder, { recursive: true }));

const newFolder = () => mkdtempSync(join(folder, "work-"));

const means = () => ({ device: "cpu", threads: 2, workFolder: newFolder() });

/** Rows on consecutive days from `first`; features of row i are i, i + 0.5, ...; its label is i / 1000, or `label`. */
function panel(
  ticker: string,
  first: number,
  rows: number,
  columns: string[],
  label = (i: number) => i / 1000,
) {
  const index = Int32Array.from({ length: rows }, (_, i) => i);
  const days = index.map((i) => first + i);
  const y = Float64Array.from(index, label);
  y[rows - 1] = Number.NaN;
  const k = columns.length;
  const x = Float64Array.from({ length: rows * k }, (_, at) => at / k);
  return {
    ...{ ticker, columns, days, y },
    x: writeNpy(join(newFolder(), "panel.npy"), x, [rows, k]),
    labelDays: days.map((day) => day + 1),
    spacing: days.map((_, i) => (i + 1 < rows ? 1 : 0)),
    volatility: new Float64Array(rows),
    fit: index.subarray(0, rows - 3),
    score: index.subarray(rows - 3),
    lastPriceDay: days.at(-1)!,
    lastFeatureDay: days.at(-1)!,
    ...{ warnings: [], listed: [] },
  } as unknown as FitPanel;
}

function settingsOf(option: string, intervals = {}) {
  const prediction = { "current option": option, data_processing: { lookback: 4 }, ...intervals };
  return parseDlSettings(JSON.stringify({ "NN params": { "Dot prediction": prediction } })).settings;
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test("the task of a ticker names its rows, the ends of its windows, and the labels of the parts to learn from", () => {
  const panels = [{ ...panel("AAA", 100, 106, ["f", "f (z)"]), zScores: 1 }, panel("BBB", 100, 30, ["f"])];
  const plan = planPerTicker(panels, settingsOf("mlp", { intervals: {} }), ONE_BLOCK);
  assert.deepEqual([plan.failures.length, plan.failures[0]!.code], [1, "insufficient_history"]);
  assert.deepEqual(plan.tickers[0]!.counts.windows, { train: 70, validate: 15, calibrate: 15, score: 3 });
  const { task } = plan.series[0]!.write(0, 0, means());
  const { ends, labels, parts, x, ticker, device, lookback, seed, z_scores } = task as TrainNetworkTask;
  assert.deepEqual(parts, { train: 70, validate: 15, predict: 18 });
  assert.deepEqual(Array.from(readNpy(ends)), range(3, 106));
  assert.deepEqual(
    Array.from(readNpy(labels)),
    range(3, 88).map((i) => i / 1000),
  );
  assert.deepEqual([x.shape, readNpy(x)[2 * 7 + 1]], [[106, 2], 7.5]);
  assert.deepEqual([ticker, device, lookback, seed, z_scores], ["AAA", "cpu", 4, 42, 1]);
});

for (const [option, plan] of [
  ["mlp", planPerTicker],
  ["portfolio_lstm", planJointNetworks],
] as const) {
  test(`with ${option}, tickers with too few labels at first join the first block that gives them enough, with those known then`, () => {
    const own = panel("A", 0, 206, ["f"]);
    const early = { ...own, fit: own.fit.subarray(0, 103), score: Int32Array.from(range(103, 206)) };
    const late = { ...early, ticker: "L", fit: own.fit.subarray(0, 32) };
    const listed = { ...early, ticker: "M", fit: own.fit.subarray(0, 120), joins: 120 };
    const ended = { ...late, ticker: "N", score: Int32Array.of(32, 33) };
    const blocks = [0, 120, 140].map((from, b) => ({ from, known: b === 0 ? undefined : from }));
    const { tickers, series, failures } = plan([early, late, listed, ended], settingsOf(option), blocks);
    const begins = new Map(series.flatMap((own) => [...own.begins]));
    assert.deepEqual(
      tickers.map(({ panel: { ticker, fit, score } }) =>
        [begins.get(ticker), ticker, fit.length, score[0]].join(" "),
      ),
      ["0 A 103 103", "1 L 120 120", "1 M 120 103"],
    );
    assert.deepEqual([failures.length, failures[0]!.code], [1, "insufficient_history"]);
    const { collect } = series.at(-1)!.write(1, 1, means());
    const first = collect(new Float64Array(1_000)).find(({ ticker }) => ticker === "M")!;
    assert.deepEqual([first.facts!.joins, [...first.score.days]], [120, range(120, 140)]);
    // No row of a late ticker judges: its dates are among the score rows of the others.
    assert.equal(first.facts!.heldOut.days.length, 0);
    const again = series.at(-1)!.write(1, 2, means()).collect(new Float64Array(1_000));
    const later = again.find(({ ticker }) => ticker === "M")!;
    assert.deepEqual([later.facts, later.model.isStandIn, later.score.days[0]], [undefined, true, 140]);
  });
}

test("the task of a joint network has one row per date and one column per ticker", () => {
  const panels = [
    panel("b", 0, 103, ["g", "f"]),
    { ...panel("B", 40, 63, ["f", "h"]), zScores: 1 },
    panel("flat", 0, 103, ["z"], () => 0),
  ];
  const { series, failures } = planJointNetworks(panels, settingsOf("portfolio_lstm"), ONE_BLOCK);
  assert.deepEqual(failures, [
    { ticker: "flat", code: "constant_target", message: "flat: all 78 training labels are equal" },
  ]);
  const { tickers, features, ends, labels, parts } = series[0]!.write(0, 0, means()).task as TrainJointTask;
  assert.equal(features, 3);
  assert.deepEqual(
    tickers.map((own) => [own.ticker, own.columns, own.scale_rows, own.x.shape, own.z_scores]),
    [
      ["B", [0, 1], 41, [63, 2], 1],
      ["b", [2, 0], 81, [103, 2], undefined],
    ],
  );
  // Days 3 to 99, 97 of them, train and validate; 100 to 102 are scored.
  assert.deepEqual(
    [parts, ends.shape, labels.shape],
    [{ train: 78, validate: 19, predict: 3 }, [100, 2], [97, 2]],
  );
  const cells = readNpy(ends);
  assert.deepEqual([...cells.subarray(0, 2)], [-1, 3]);
  const day60 = 2 * (60 - 3);
  assert.deepEqual([...cells.subarray(day60, day60 + 2)], [20, 60]);
  assert.deepEqual([...readNpy(labels).subarray(day60, day60 + 2)], [0.02, 0.06]);
});

test("predictions of relative targets become returns once, each part with the level that its network could know", () => {
  const levels = { knownAt: (day: number) => day / 1000, final: 7 };
  const widths = Float64Array.from(range(0, 12));
  const relative = { values: new Float64Array(12), widths, levels } as unknown as FitPanel["relative"];
  const rows = { ...panel("AAA", 100, 12, ["f"]), relative: relative! };
  const part = (...of: number[]) => Int32Array.from(of);
  const windows = {
    train: part(2, 3, 4),
    validate: part(5, 6),
    calibrate: part(7, 8),
    score: part(9, 10, 11),
  };
  const predicted = {
    validate: Float64Array.of(0.5, 1),
    calibrate: Float64Array.of(-1, 2),
    score: Float64Array.of(1, 0, -2),
  };
  const by = { learned: 0, block: 0, known: undefined, whole: rows, begins: true, warnings: [] };
  const { facts, score, predictions, predictionUnit } = forecastBlock(rows, windows, predicted, by);
  // The label of row 4 is known on day 105.
  assert.deepEqual([...facts!.tested[0]!.predicted], [0.105 + 5 * 0.5, 0.105 + 6]);
  assert.deepEqual([...facts!.tested[1]!.predicted], [0.105 - 7, 0.105 + 8 * 2]);
  assert.deepEqual([...score.predicted], [7 + 9, 7, 7 - 11 * 2]);
  assert.deepEqual([[...predictions], predictionUnit], [[1, 0, -2], 11]);
});
