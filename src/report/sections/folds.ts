import { max, min } from "d3-array";
import { scaleLinear } from "d3-scale";
import { type Day, formatDay, parseDay } from "../../contract/market/dates.ts";
import { verdictFigures } from "../../contract/output/later-close.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { metrics } from "../../evaluate/forecast-table.ts";
import type { FoldRows, TestedRows } from "../../outputs/scored-rows.ts";
import { countedRows, figure, type Unit } from "../../view/figures.ts";
import { box, gridX } from "../../view/path.ts";
import { columnChart } from "../charts/column-chart.ts";
import { mark, plotSvg, timeLabels } from "../charts/plot.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { keyLine, numbersTable, type Panel, plainTable } from "../panels/panel.ts";
import { chartSection, type Part, panelsOf } from "../panels/section.ts";
import { trainingOf, trainingPanels } from "./training.ts";

/** The walk-forward folds and their forecasts; for networks, how they were trained. */
export const foldsSection = chartSection({
  id: "folds",
  title: "Folds and training",
  short: "Training",
  panels: ({ whole }) => {
    const [folds, training] = [foldsOf(whole), trainingOf(whole)];
    if (training.data === undefined) return panelsOf("Folds", folds, foldsPanels);
    return [...(folds.data === undefined ? [] : foldsPanels(folds.data)), ...trainingPanels(training.data)];
  },
});

/** The walk-forward folds, in time order. */
interface Folds {
  readonly folds: readonly FoldSpan[];
  readonly timelineFinding: string;
  readonly skillFinding: string;
  /** The same metric out of fold and on score rows. */
  readonly beside: readonly BesideScore[];
  readonly besideFinding: string;
}

/** Over its tickers: the earliest start and the latest end. */
interface FoldSpan {
  readonly fold: number;
  readonly tickers: number;
  readonly trainStart: Day;
  readonly trainEnd: Day;
  readonly testStart: Day;
  readonly testEnd: Day;
  /** Test rows of all tickers. */
  readonly n: number;
  readonly r2Zero: number | null;
}

interface BesideScore {
  readonly name: string;
  readonly unit: Unit;
  readonly outOfFold: number | null;
  readonly score: number | null;
}

/** The walk-forward folds and their forecasts. */
export function foldsOf(evidence: OutputEvidence): Part<Folds> {
  const { document, outOfFold } = evidence;
  if (document.cross_validation === undefined || outOfFold === undefined) {
    return {
      absent: "The output has no walk-forward folds: networks hold out one period before the cut.",
    };
  }
  const parts = foldParts(outOfFold);
  if (parts.length === 0) return { absent: "The history is too short for a walk-forward fold." };
  const folds = parts.map(spanOf);
  const beside = comparedWithScore(evidence);
  return {
    data: {
      folds,
      timelineFinding: timelineFinding(folds),
      skillFinding: skillFinding(folds),
      beside,
      besideFinding: besideFinding(beside, evidence.dateCount),
    },
  };
}

/** One fold of one ticker with its rows. */
interface TickerFold {
  readonly fold: FoldRows["fold"];
  readonly predicted: Float64Array;
  readonly realised: Float64Array;
}

/** The folds of all tickers, in time order. */
function foldParts(outOfFold: readonly TestedRows[]): TickerFold[][] {
  const parts: TickerFold[][] = [];
  for (const { folds, predicted, realised } of outOfFold) {
    for (const { number, fold, from, to } of folds) {
      parts[number - 1] ??= [];
      parts[number - 1]!.push({
        fold,
        predicted: predicted.subarray(from, to),
        realised: realised.subarray(from, to),
      });
    }
  }
  return parts;
}

function spanOf(parts: readonly TickerFold[], index: number): FoldSpan {
  const days = (of: (fold: FoldRows["fold"]) => string) =>
    parts.map(({ fold }) => parseDay(of(fold)) ?? Number.NaN);
  const earliest = (of: (fold: FoldRows["fold"]) => string) => days(of).reduce((a, b) => Math.min(a, b));
  const latest = (of: (fold: FoldRows["fold"]) => string) => days(of).reduce((a, b) => Math.max(a, b));
  const realised = concatenate(parts.map((part) => part.realised));
  const predicted = concatenate(parts.map((part) => part.predicted));
  return {
    fold: index + 1,
    tickers: parts.length,
    trainStart: earliest((fold) => fold.train_start),
    trainEnd: latest((fold) => fold.train_end),
    testStart: earliest((fold) => fold.test_start),
    testEnd: latest((fold) => fold.test_end),
    n: realised.length,
    r2Zero: metrics({ realised, predicted, trainingMean: predicted }).r2_zero,
  };
}

function timelineFinding(folds: readonly FoldSpan[]): string {
  const [first, last] = [folds[0]!, folds.at(-1)!];
  return `${countedRows(folds.length, "fold")} test the rows from ${formatDay(first.testStart)} to ${formatDay(last.testEnd)}; each learns from the rows whose returns are known before its test rows.`;
}

function skillFinding(folds: readonly FoldSpan[]): string {
  const judged = folds.filter(({ r2Zero }) => r2Zero !== null);
  if (judged.length === 0) return "No fold has an R²: all returns are 0, or forecasts are extremely large.";
  const good = judged.filter(({ r2Zero }) => r2Zero! > 0).length;
  const worst = judged.reduce((a, b) => (b.r2Zero! < a.r2Zero! ? b : a));
  return `Forecasts beat the zero forecast in ${figure(good, "count")} of ${countedRows(judged.length, "fold")}; the worst fold had an R² of ${figure(worst.r2Zero, "r2")} (from ${formatDay(worst.testStart)}).`;
}

function comparedWithScore({ document, table: score, verdict }: OutputEvidence): BesideScore[] {
  const outOfFold = document.metrics.out_of_fold;
  const [before, after] = [outOfFold?.pooled, score.pooled];
  const [earlier, later] = (["out_of_fold", "score"] as const).map((name) => {
    const judged = verdict?.judged.find(({ rows }) => rows === name);
    return judged && verdictFigures(judged);
  });
  const row = (name: string, unit: BesideScore["unit"], a: number | null | undefined, b: number | null) => ({
    name,
    unit,
    outOfFold: a ?? null,
    score: b,
  });
  return [
    row("Rows", "count", before?.n, after.n),
    row("IC", "ic", earlier?.ic, later?.ic ?? null),
    row("R²", "r2", earlier?.r2, later?.r2 ?? null),
    row("Hit rate", "coverage", before?.hit_rate, after.hit_rate),
    row("RMSE", "rmse", before?.rmse, after.rmse),
  ];
}

function besideFinding(beside: readonly BesideScore[], dateCount: number): string {
  const r2 = beside.find(({ name }) => name.startsWith("R²"))!;
  if (r2.outOfFold === null || r2.score === null) return "One of the two sides has no figure yet.";
  if (dateCount < MIN_DATES) {
    return `R² is ${figure(r2.score, "r2")} over the ${countedRows(dateCount, "date")} after the cut, which are too few to judge. In the folds before the cut it was ${figure(r2.outOfFold, "r2")}.`;
  }
  const way = r2.score < r2.outOfFold ? "worse" : "no worse";
  return `R² was ${way} after the cut than in the folds before it: ${figure(r2.score, "r2")} against ${figure(r2.outOfFold, "r2")}.`;
}

/** The walk-forward folds. */
function foldsPanels({ folds, timelineFinding, skillFinding, beside, besideFinding }: Folds): Panel[] {
  return [
    {
      title: "Walk-forward timeline",
      tab: { card: "folds", label: "Timeline" },
      finding: timelineFinding,
      chart: foldChart(timelineFinding, folds),
      key: keyLine([
        ["train", "training rows"],
        ["bar", "test rows"],
      ]),
      numbers: numbersTable({
        caption: "folds",
        columns: ["Fold", "Train from", "to", "Test from", "to", "Test rows", "R², pooled rows"],
        rows: folds.map((fold) => [
          String(fold.fold),
          formatDay(fold.trainStart),
          formatDay(fold.trainEnd),
          formatDay(fold.testStart),
          formatDay(fold.testEnd),
          figure(fold.n, "count"),
          figure(fold.r2Zero, "r2"),
        ]),
      }),
    },
    {
      title: "R² by fold",
      tab: { card: "folds", label: "R² by fold" },
      finding: skillFinding,
      chart: columnChart({
        finding: skillFinding,
        labels: folds.map(({ fold }) => String(fold)),
        unit: "r2",
        series: [folds.map(({ r2Zero }) => r2Zero)],
        isJudged: true,
      }),
    },
    {
      title: "Out-of-fold and score rows",
      finding: besideFinding,
      chart: plainTable({
        caption: "out-of-fold and score rows",
        columns: ["Metric", "Out of fold", "Score rows"],
        rows: beside.map(({ name, unit, outOfFold, score }) => [
          name,
          figure(outOfFold, unit),
          figure(score, unit),
        ]),
      }),
    },
  ];
}

const ROW_HEIGHT = 20;

/** The walk-forward timeline: for each fold, the dates that its model learned from and the dates that it was tested on. */
function foldChart(finding: string, folds: readonly FoldSpan[]): string {
  const first = min(folds, ({ trainStart }) => trainStart)!;
  const last = max(folds, ({ testEnd }) => testEnd)!;
  const share = scaleLinear().domain([first, last]);
  const x = (day: number) => gridX(share(day));
  const row = (i: number, from: number, to: number) =>
    box(x(from), gridX((i + 0.2) / folds.length), x(to), gridX((i + 0.8) / folds.length));
  const marks = [
    mark("train", folds.map(({ trainStart, trainEnd }, i) => row(i, trainStart, trainEnd)).join("")),
    mark("bar", folds.map(({ testStart, testEnd }, i) => row(i, testStart, testEnd)).join("")),
  ];
  const every = Math.ceil(folds.length / 20);
  const yLabels = folds.flatMap(({ fold }, i) =>
    i % every === 0 ? [{ at: 1 - (i + 0.5) / folds.length, text: `fold ${fold}` }] : [],
  );
  return plotSvg({
    finding,
    marks,
    xLabels: timeLabels(first, last),
    yLabels,
    height: Math.min(400, Math.max(60, folds.length * ROW_HEIGHT)),
  });
}
