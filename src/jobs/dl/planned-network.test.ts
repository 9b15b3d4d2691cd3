import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseDlSettings } from "../../contract/config/dl-settings.ts";
import { readNpy } from "../../engine/npy.ts";
import type { TrainJointTask, TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import { evaluateForecasts } from "../shared/evaluate-forecasts.ts";
import type { HeldOutPart } from "../shared/modelled-ticker.ts";
import { type FitPanel, readTickers } from "../shared/panels.ts";
import { planJointNetwork } from "./plan-joint-network.ts";
import { planTickerNetworks } from "./plan-ticker-networks.ts";
import { type TrainedTicker, trainedTicker } from "./planned-network.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-networks-"));
after(() => rmSync(folder, { recursive: true }));

const newFolder = () => mkdtempSync(join(folder, "work-"));

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
  return {
    ticker,
    columns,
    days,
    x: Float64Array.from({ length: rows * columns.length }, (_, at) => at / columns.length),
    y,
    labelDays: days.map((day) => day + 1),
    spacing: days.map((_, i) => (i + 1 < rows ? 1 : 0)),
    volatility: new Float64Array(rows),
    fit: index.subarray(0, rows - 3),
    score: index.subarray(rows - 3),
    lastPriceDay: days.at(-1)!,
    lastFeatureDay: days.at(-1)!,
    warnings: [],
  } as unknown as TickerPanel;
}

async function onDisk(work: string, ...panels: TickerPanel[]): Promise<readonly FitPanel[]> {
  async function* read() {
    yield* panels;
  }
  const { signal } = new AbortController();
  const store = { workFolder: work, isPreview: false };
  return (await readTickers(read(), store, { refitEvery: undefined, signal }, () => [])).panels;
}

function settingsOf(option: string, intervals = {}) {
  const prediction = { "current option": option, data_processing: { lookback: 4 }, ...intervals };
  return parseDlSettings(JSON.stringify({ "NN params": { "Dot prediction": prediction } })).settings;
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** The resources that a network is trained with. */
const ALONE = { device: "cpu", threads: 2, signal: new AbortController().signal };

test("the task of a ticker names its rows, the ends of its windows, and the labels of the parts to learn from", async () => {
  const work = newFolder();
  const panels = await onDisk(work, panel("AAA", 100, 106, ["f", "g"]), panel("BBB", 100, 30, ["f"]));
  const { networks, failures } = planTickerNetworks(panels, settingsOf("mlp", { intervals: {} }), work);
  assert.deepEqual(
    failures.map(({ ticker, code }) => [ticker, code]),
    [["BBB", "insufficient_history"]],
  );
  const [network] = networks;
  const { task, files } = await network!.task(ALONE);
  const { x, ends, labels, parts, ...rest } = task as TrainNetworkTask;
  assert.deepEqual(parts, { train: 70, validate: 15, predict: 18 });
  assert.deepEqual(Array.from(readNpy(ends)), range(3, 106));
  assert.deepEqual(
    Array.from(readNpy(labels)),
    range(3, 88).map((i) => i / 1000),
  );
  assert.deepEqual([x.shape, readNpy(x)[2 * 7 + 1]], [[106, 2], 7.5]);
  const { ticker, label, device, lookback, seed, scaler } = rest;
  assert.deepEqual([ticker, label, device, lookback, seed, scaler], ["AAA", "AAA", "cpu", 4, 42, "robust"]);
  assert.deepEqual(
    [ends.ref, labels.ref].map((file) => files.includes(file) && existsSync(file)),
    [true, true],
  );
});

test("tasks name the number of a ticker's last columns that are z-scores, and omit it if there are none", async () => {
  for (const [option, plan] of [
    ["mlp", planTickerNetworks],
    ["portfolio_lstm", planJointNetwork],
  ] as const) {
    for (const zScores of [undefined, 1]) {
      const work = newFolder();
      const own = {
        ...panel("AAA", 100, 106, ["f", "f (z)"]),
        ...(zScores === undefined ? {} : { zScores }),
      };
      const panels = await onDisk(work, own);
      const { networks } = plan(panels, settingsOf(option), work);
      const { task } = await networks[0]!.task(ALONE);
      const carrier = task.task === "train_joint" ? task.tickers[0]! : task;
      assert.equal(carrier.z_scores, zScores);
      assert.equal("z_scores" in carrier, zScores !== undefined);
    }
  }
});

test("a joint network is trained at the block that a ticker joins, whether that block has score windows or not", async () => {
  const work = newFolder();
  const flat = panel("FLAT", 0, 120, ["f"], () => 0);
  const [own, excluded, whole] = await onDisk(
    work,
    panel("A", 0, 103, ["f"]),
    flat,
    panel("L", 0, 106, ["f"]),
  );
  const days = whole!.days.map((day) => (day > 102 ? day + 12 : day));
  const late: FitPanel = { ...whole!, days, score: Int32Array.of(103, 104, 105), joins: 105 };
  const blocks = [100, 105, 114].map((from, b) => ({ from, known: b === 0 ? undefined : from }));
  const { networks, joined } = planJointNetwork(
    [own!, excluded!, late],
    settingsOf("portfolio_lstm"),
    work,
    blocks,
  );
  assert.deepEqual(joined, ["L"]);
  assert.deepEqual(
    networks.map(({ block, begins, tickers }) => [block, [...begins], tickers]),
    [
      [0, ["A"], ["A"]],
      [1, ["L"], []],
      [2, [], ["L"]],
    ],
  );
});

test("the second part of a ticker's predictions makes the intervals of the rest", async () => {
  const work = newFolder();
  const settings = settingsOf("mlp", { intervals: { alpha: 0.5, method: "split" } });
  const { networks } = planTickerNetworks(await onDisk(work, panel("AAA", 0, 106, ["f"])), settings, work);
  // On calibration rows 88 to 102 the network misses by 0.001, 0.002, ... 0.015; then three score rows.
  const misses = range(88, 103).map((row, i) => row / 1000 + (i + 1) / 1000);
  const watched = range(73, 88).map((row) => row / 10);
  const trained = networks[0]!.forecasts(Float64Array.from([...watched, ...misses, 1, 2, 3]));
  const [{ validation, calibration }] = trained as [TrainedTicker];
  assert.deepEqual([[...validation.days], [...validation.predicted]], [range(73, 88), watched]);
  assert.deepEqual(
    [...validation.realised],
    range(73, 88).map((row) => row / 1000),
  );
  const learned = range(3, 73).reduce((sum, row) => sum + row / 1000, 0) / 70;
  assert.deepEqual([...validation.trainingMean], new Array(15).fill(learned), "of the labels that trained");
  assert.deepEqual(calibration.trainingMean, validation.trainingMean);
  assert.deepEqual([[...calibration.days], [...calibration.predicted]], [range(88, 103), misses]);
  // The date of a row here is its number.
  assert.deepEqual(trained[0]!.splits, {
    train: { start: 3, end: 72 },
    validate: { start: 73, end: 87 },
    calibrate: { start: 88, end: 102 },
  });
  const [scored] = evaluateForecasts(trained, "calibration", settings, 105).tickers;
  assert.deepEqual([...scored!.score.predicted], [1, 2, 3]);
  assert.deepEqual([...scored!.score.days], [103, 104, 105]);
  assert.deepEqual([...scored!.score.realised], [0.103, 0.104, Number.NaN]);
  const mean = range(0, 103).reduce((sum, i) => sum + i / 1000, 0) / 103;
  assert.ok(Math.abs(scored!.score.trainingMean[0]! - mean) < 1e-12, "of all fit labels");
  // The eighth smallest of fifteen misses.
  assert.ok(Math.abs(scored!.bounds.upper[0]! - 1.008) < 1e-12);
});

test("the task of a joint network has one row per date and one column per ticker", async () => {
  const work = newFolder();
  const panels = await onDisk(
    work,
    panel("b", 0, 103, ["g", "f"]),
    panel("B", 40, 63, ["f", "h"]),
    panel("flat", 0, 103, ["z"], () => 0),
  );
  const { networks, failures } = planJointNetwork(panels, settingsOf("portfolio_lstm"), work);
  assert.deepEqual(failures, [
    { ticker: "flat", code: "constant_target", message: "flat: all 78 training labels are equal" },
  ]);
  const { task } = await networks[0]!.task(ALONE);
  const { tickers, features, ends, labels, parts } = task as TrainJointTask;
  assert.equal(features, 3);
  assert.deepEqual(
    tickers.map(({ ticker, columns, scale_rows, x }) => [ticker, columns, scale_rows, x.shape]),
    [
      ["B", [0, 1], 41, [63, 2]],
      ["b", [2, 0], 81, [103, 2]],
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

test("each ticker keeps its own predictions of a joint network, with the features that it lacks", async () => {
  const work = newFolder();
  const panels = await onDisk(
    work,
    panel("A", 0, 103, ["f"]),
    panel("B", 0, 102, ["f", "g"], (i) => -i / 1000),
  );
  const { networks } = planJointNetwork(panels, settingsOf("portfolio_lstm"), work);
  const { task } = await networks[0]!.task(ALONE);
  // B's score rows begin a day earlier, so there are four dates: A's on the last three, B's on the first three.
  assert.equal(task.parts.predict, 4);
  // Days 81 to 99 validate.
  const watched = range(81, 100).flatMap((day) => [day, -day]);
  const trained = networks[0]!.forecasts(Float64Array.from([...watched, 0, 10, 1, 11, 2, 12, 3, 13]));
  const [a, b] = trained.map(({ validation }) => validation) as [HeldOutPart, HeldOutPart];
  assert.deepEqual([[...a.days], [...a.predicted]], [range(81, 100), range(81, 100)]);
  assert.deepEqual([[...b.days], [...b.predicted]], [range(81, 99), range(81, 99).map((day) => -day)]);
  assert.deepEqual(
    [...b.realised],
    range(81, 99).map((day) => -day / 1000),
  );
  // Each has the mean of its own labels of days 3 to 80.
  for (const [{ trainingMean }, mean] of [
    [a, 0.0415],
    [b, -0.0415],
  ] as const) {
    assert.ok(trainingMean.every((value) => Math.abs(value - mean) < 1e-12));
  }
  assert.deepEqual([a.trainingMean.length, b.trainingMean.length], [19, 18]);
  assert.deepEqual(
    trained.map(({ ticker, score }) => [ticker, [...score.days], [...score.predicted]]),
    [
      ["A", [100, 101, 102], [1, 2, 3]],
      ["B", [99, 100, 101], [10, 11, 12]],
    ],
  );
  assert.deepEqual(trained[1]!.splits, {
    train: { start: 3, end: 80 },
    validate: { start: 81, end: 98 },
    calibrate: undefined,
  });
  assert.deepEqual(
    trained.map(({ warnings }) => warnings.map(({ code, count }) => [code, count])),
    [[["feature_absent", 1]], []],
  );
});

test("predictions of relative targets become returns once, each part with the level that its network could know", async () => {
  const levels = { knownAt: (day: number) => day / 1000, final: 7 };
  const values = new Float64Array(12);
  const rows = panel("AAA", 100, 12, ["f"]);
  const widths = Float64Array.from(range(0, 12));
  const [relative] = await onDisk(newFolder(), { ...rows, relative: { values, widths, levels } });
  const part = (...of: number[]) => Int32Array.from(of);
  const plan = { train: part(2, 3, 4), validate: part(5, 6), calibrate: part(7, 8), score: part(9, 10, 11) };
  const predicted = {
    validate: Float64Array.of(0.5, 1),
    calibrate: Float64Array.of(-1, 2),
    score: Float64Array.of(1, 0, -2),
  };
  const ticker = trainedTicker(relative!, plan, predicted, []);
  // The label of row 4 is known on day 105.
  assert.deepEqual([...ticker.validation.predicted], [0.105 + 5 * 0.5, 0.105 + 6]);
  assert.deepEqual([...ticker.calibration.predicted], [0.105 - 7, 0.105 + 8 * 2]);
  assert.deepEqual([...ticker.score.predicted], [7 + 9, 7, 7 - 11 * 2]);
  assert.deepEqual([...ticker.predictions], [1, 0, -2]);
  assert.equal(ticker.predictionUnit, 11);
  assert.deepEqual([...ticker.validation.realised], [0.005, 0.006]);
});

test("a network beyond the limits is refused with the features that the ticker has", async () => {
  const work = newFolder();
  const names = range(0, 100).map((i) => `f${i}`);
  const settings = {
    ...settingsOf("mlp"),
    network: { architecture: "mlp", hidden_dims: [4096, 4096, 4096, 4096], dropout: 0 },
  } as const;
  const panels = await onDisk(work, panel("AAA", 0, 106, names));
  assert.throws(() => planTickerNetworks(panels, settings, work), {
    code: "invalid_request",
    message: /100 features/,
  });
});
