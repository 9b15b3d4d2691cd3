import { type Day, formatDay, parseDay } from "../../contract/market/dates.ts";
import { verdictFigures } from "../../contract/output/later-close.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { metrics } from "../../evaluate/forecast-table.ts";
import type { FoldRows, TestedRows } from "../../outputs/scored-rows.ts";
import { columnsOf } from "../../view/chart.ts";
import { countedRows, figure, type Unit } from "../../view/figures.ts";
import { numbers, table } from "../../view/table.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { absent, panelSection, type ReportPanel } from "../section.ts";
import { extremes } from "./skill-over-time.ts";
import { trainingPanels } from "./training.ts";

/** The walk-forward folds and their forecasts; for networks, how they were trained. */
export const foldsSection = panelSection({
  id: "folds",
  title: "Folds and training",
  short: "Training",
  panels: ({ whole }) => {
    const { document, outOfFold } = whole;
    if (document.training !== undefined) return trainingPanels(document);
    const folds = outOfFold === undefined ? [] : spansOf(outOfFold);
    if (folds.length === 0) {
      const isNetwork = document.operation === "run_dl_job";
      const why = isNetwork ? "No network was trained." : "The history is too short for a walk-forward fold.";
      return absent("Folds", why);
    }
    return [...foldPanels(folds), besidePanel(whole)];
  },
});

/** Over the tickers of a fold: the earliest start and the latest end. */
interface FoldSpan {
  readonly trainStart: Day;
  readonly trainEnd: Day;
  readonly testStart: Day;
  readonly testEnd: Day;
  /** Test rows of all tickers. */
  readonly n: number;
  readonly r2: number | null;
}

/** In time order. */
export function spansOf(outOfFold: readonly TestedRows[]): FoldSpan[] {
  const parts = outOfFold.flatMap(({ folds, predicted, realised }) =>
    folds.map(({ number, fold, from, to }) => {
      return { number, fold, predicted: predicted.subarray(from, to), realised: realised.subarray(from, to) };
    }),
  );
  const byNumber = [...Map.groupBy(parts, ({ number }) => number)].sort(([a], [b]) => a - b);
  return byNumber.map(([, group]) => {
    const days = (of: (fold: FoldRows["fold"]) => string) =>
      group.map(({ fold }) => parseDay(of(fold)) ?? Number.NaN);
    const realised = concatenate(group.map((part) => part.realised));
    const predicted = concatenate(group.map((part) => part.predicted));
    return {
      trainStart: Math.min(...days(({ train_start }) => train_start)),
      trainEnd: Math.max(...days(({ train_end }) => train_end)),
      testStart: Math.min(...days(({ test_start }) => test_start)),
      testEnd: Math.max(...days(({ test_end }) => test_end)),
      n: realised.length,
      r2: metrics({ realised, predicted, trainingMean: predicted }).r2_zero,
    };
  });
}

const ROW_HEIGHT = 20;

function foldPanels(folds: readonly FoldSpan[]): ReportPanel[] {
  const [first, last] = [folds[0]!, folds.at(-1)!];
  const names = folds.map((_, i) => `fold ${i + 1}`);
  const boxes = (of: (fold: FoldSpan) => readonly [from: Day, to: Day]) =>
    folds.flatMap((fold, i) => of(fold).map((day, end) => [day, i + (end === 0 ? 0.2 : 0.8)] as const));
  const judged = folds.filter(({ r2 }) => r2 !== null);
  const good = judged.filter(({ r2 }) => r2! > 0).length;
  const skill = () => {
    const [worst] = extremes(judged, ({ r2 }) => r2!);
    return `Forecasts beat the zero forecast in ${good} of ${countedRows(judged.length, "fold")}; the worst fold had an R² of ${figure(worst.r2, "r2")} (from ${formatDay(worst.testStart)}).`;
  };
  return [
    {
      title: "Walk-forward timeline",
      tab: { card: "folds", label: "Timeline" },
      sentence: `${countedRows(folds.length, "fold")} test the rows from ${formatDay(first.testStart)} to ${formatDay(last.testEnd)}; each learns from the rows whose returns are known before its test rows.`,
      chart: {
        x: "days",
        y: { names },
        height: Math.min(400, Math.max(60, folds.length * ROW_HEIGHT)),
        marks: [
          {
            kind: "train",
            shape: "boxes",
            points: boxes(({ trainStart, trainEnd }) => [trainStart, trainEnd]),
            meaning: "training rows",
          },
          {
            kind: "bar",
            shape: "boxes",
            points: boxes(({ testStart, testEnd }) => [testStart, testEnd]),
            meaning: "test rows",
          },
        ],
      },
      numbers: numbers({
        name: "folds",
        rows: folds,
        columns: [
          ["Fold", "text", (_, i) => String(i + 1)],
          ["Train from", "text", ({ trainStart }) => formatDay(trainStart)],
          ["to", "text", ({ trainEnd }) => formatDay(trainEnd)],
          ["Test from", "text", ({ testStart }) => formatDay(testStart)],
          ["to", "text", ({ testEnd }) => formatDay(testEnd)],
          ["Test rows", "count", ({ n }) => n],
          ["R², pooled rows", "r2", ({ r2 }) => r2],
        ],
      }),
    },
    {
      title: "R² by fold",
      tab: { card: "folds", label: "R² by fold" },
      sentence:
        judged.length === 0
          ? "No fold has an R²: all returns are 0, or forecasts are extremely large."
          : skill(),
      chart: {
        x: { names: folds.map((_, i) => String(i + 1)) },
        y: { unit: "r2" },
        marks: [
          columnsOf(
            "bar",
            folds.map(({ r2 }) => r2),
            { meaning: "R² against the zero forecast, pooled rows" },
          ),
        ],
      },
    },
  ];
}

function besidePanel({ document, table: score, verdict, dateCount }: OutputEvidence): ReportPanel {
  const [earlier, later] = (["out_of_fold", "score"] as const).map((name) => {
    const judged = verdict?.judged.find(({ rows }) => rows === name);
    return judged && verdictFigures(judged);
  });
  const [before, after] = [document.metrics.out_of_fold?.pooled, score.pooled];
  type Row = readonly [
    name: string,
    unit: Unit,
    before: number | null | undefined,
    after: number | null | undefined,
  ];
  const rows: readonly Row[] = [
    ["Rows", "count", before?.n, after.n],
    ["IC", "ic", earlier?.ic, later?.ic],
    ["R²", "r2", earlier?.r2, later?.r2],
    ["Hit rate", "coverage", before?.hit_rate, after.hit_rate],
    ["RMSE", "rmse", before?.rmse, after.rmse],
  ];
  return {
    title: "Out-of-fold and score rows",
    sentence: besideSentence(earlier?.r2, later?.r2, dateCount),
    body: table({
      name: "out-of-fold and score rows",
      rows,
      columns: [
        ["Metric", "text", ([name]) => name],
        ["Out of fold", "text", ([, unit, value]) => figure(value, unit)],
        ["Score rows", "text", ([, unit, , value]) => figure(value, unit)],
      ],
    }),
  };
}

function besideSentence(
  before: number | null | undefined,
  after: number | null | undefined,
  dates: number,
): string {
  if (before == null || after == null) return "One of the two sides has no figure yet.";
  const [earlier, later] = [figure(before, "r2"), figure(after, "r2")];
  if (dates < MIN_DATES)
    return `R² is ${later} over the ${countedRows(dates, "date")} after the cut, which are too few to judge. In the folds before the cut it was ${earlier}.`;
  return `R² was ${after < before ? "worse" : "no worse"} after the cut than in the folds before it: ${later} against ${earlier}.`;
}
