import { max, min } from "d3-array";
import { scaleLinear } from "d3-scale";
import type { FoldSpan } from "../data/section-data.ts";
import { box, gridX } from "./path.ts";
import { mark, plotSvg } from "./plot.ts";
import { timeLabels } from "./time-axis.ts";

const ROW_HEIGHT = 20;

/** The walk-forward timeline: for each fold, the dates that its model learned from and the dates that it was tested on. */
export function foldChart(finding: string, folds: readonly FoldSpan[]): string {
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
