import type { Unit } from "../figures.ts";
import { box, dot, GRID, gridX, segment } from "./path.ts";
import { type AxisLabel, escapeShortText, mark, plotSvg, tickLabels, xGrid } from "./plot.ts";
import { extentOf, linearScale, type Scale, type ScaledChart } from "./scale.ts";

/** A row: a bar from the base or, with `low` and `high`, a dot within its interval. */
export interface ChartRow {
  readonly name: string;
  readonly value: number;
  /** A missing end means a one-sided interval: the line continues to the frame. */
  readonly low?: number | null;
  readonly high?: number | null;
  /** Drawn hollow. */
  readonly isOlder?: boolean;
}

export interface RowChart {
  readonly finding: string;
  readonly rows: readonly ChartRow[];
  readonly unit: Unit;
  readonly level?: number;
  /** Where the bars start; 0 by default. */
  readonly base?: number;
  /** Further values that the scale contains, so that small differences look small. */
  readonly atLeast?: readonly number[];
}

const ROW_HEIGHT = 17;
const MAX_NAME_LENGTH = 14;

/** Rows one below the other, with their names on the left. */
export function rowChart(chart: RowChart): ScaledChart {
  const values = valuesOf(chart);
  return { extent: extentOf(values), draw: (within) => drawn(chart, [...values, ...within]) };
}

function valuesOf({ rows, level, base = 0, atLeast = [] }: RowChart): number[] {
  const ends = rows.flatMap(({ low, high }) => [low, high].filter((end) => typeof end === "number"));
  const known = level === undefined ? [] : [level];
  return [base, ...atLeast, ...known, ...rows.map(({ value }) => value), ...ends];
}

function drawn({ finding, rows, unit, level, base = 0 }: RowChart, values: readonly number[]): string {
  const x = linearScale(values, 4);
  const middle = (i: number) => gridX((i + 0.5) / rows.length);
  const marks = [
    xGrid(x),
    level === undefined ? "" : mark("level", segment(gridX(x.share(level)), 0, gridX(x.share(level)), GRID)),
    mark("interval", rows.map((row, i) => (isBounded(row) ? interval(row, middle(i), x) : "")).join("")),
    mark(
      "bar",
      rows.map((row, i) => (isBounded(row) || row.isOlder ? "" : bar(row, i, rows.length, x, base))).join(""),
    ),
    mark(
      "bar second",
      rows
        .map((row, i) => (!isBounded(row) && row.isOlder ? bar(row, i, rows.length, x, base) : ""))
        .join(""),
    ),
    mark(
      "dot",
      rows.map((row, i) => (isBounded(row) ? dot(gridX(x.share(row.value)), middle(i)) : "")).join(""),
    ),
  ];
  return plotSvg({
    finding,
    marks,
    xLabels: tickLabels(x, unit).map(
      (label, i, all): AxisLabel => ({ ...label, isSpare: all.length > 4 && i % 2 === 1 }),
    ),
    yLabels: [],
    labels: rows.map((row, i) => nameText(row, (i + 0.5) / rows.length)).join(""),
    height: Math.max(40, rows.length * ROW_HEIGHT),
    isWide: true,
  });
}

function isBounded({ low, high }: ChartRow): boolean {
  return typeof low === "number" || typeof high === "number";
}

function interval({ low, high }: ChartRow, y: number, x: Scale): string {
  const left = typeof low === "number" ? gridX(x.share(low)) : 0;
  const right = typeof high === "number" ? gridX(x.share(high)) : GRID;
  return segment(left, y, right, y);
}

function bar({ value }: ChartRow, i: number, count: number, x: Scale, base: number): string {
  const [top, bottom] = [gridX((i + 0.15) / count), gridX((i + 0.85) / count)];
  return box(gridX(x.share(base)), top, gridX(x.share(value)), bottom);
}

function nameText({ name, isOlder }: ChartRow, at: number): string {
  const text = `${isOlder ? "\u25cb " : ""}${escapeShortText(name, MAX_NAME_LENGTH)}`;
  return `<text class="y" x="-6" y="${Number((100 * at).toFixed(2))}%" dy=".35em">${text}</text>`;
}
