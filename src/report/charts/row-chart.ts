import { figure, type Unit } from "../../view/figures.ts";
import { box, dot, GRID, gridX, segment } from "../../view/path.ts";
import { type AxisLabel, mark, plotSvg, rowName, tickLabels, xGrid } from "./plot.ts";
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
  /** Rows that are left out, and after how many rows: their place is marked. */
  readonly gap?: { readonly after: number; readonly rows: number } | undefined;
  /** Whether a bar that ends below its base shows something bad. */
  readonly isJudged?: boolean;
}

const ROW_HEIGHT = 16;
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

function drawn(chart: RowChart, values: readonly number[]): string {
  const { finding, rows, unit, level, base = 0, gap, isJudged = false } = chart;
  const x = linearScale(values, 4);
  const slots = rows.length + (gap === undefined ? 0 : 1);
  const slotOf = (i: number) => (gap !== undefined && i >= gap.after ? i + 1 : i);
  const middle = (i: number) => gridX((slotOf(i) + 0.5) / slots);
  const bars = (kind: (row: ChartRow) => boolean) =>
    rows.map((row, i) => (!isBounded(row) && kind(row) ? bar(row, slotOf(i), slots, x, base) : "")).join("");
  const isBad = ({ value }: ChartRow) => isJudged && value < base;
  const cut = gap === undefined ? 0 : gridX((gap.after + 0.5) / slots);
  const marks = [
    xGrid(x),
    gap === undefined ? "" : mark("cut", segment(0, cut, GRID, cut)),
    level === undefined ? "" : mark("level", segment(gridX(x.share(level)), 0, gridX(x.share(level)), GRID)),
    mark("interval", rows.map((row, i) => (isBounded(row) ? interval(row, middle(i), x) : "")).join("")),
    mark(
      "bar",
      bars((row) => !row.isOlder && !isBad(row)),
    ),
    mark(
      "bar bad",
      bars((row) => !row.isOlder && isBad(row)),
    ),
    mark(
      "bar second",
      bars((row) => row.isOlder === true),
    ),
    mark(
      "dot",
      rows.map((row, i) => (isBounded(row) ? dot(gridX(x.share(row.value)), middle(i)) : "")).join(""),
    ),
  ];
  const names = rows.map(({ name, isOlder }, i) =>
    rowName(name, (slotOf(i) + 0.5) / slots, MAX_NAME_LENGTH, isOlder ? "\u25cb " : ""),
  );
  if (gap !== undefined) names.push(gapText(gap.rows, (gap.after + 0.5) / slots));
  return plotSvg({
    finding,
    marks,
    xLabels: tickLabels(x, unit).map(
      (label, i, all): AxisLabel => ({ ...label, isSpare: all.length > 4 && i % 2 === 1 }),
    ),
    yLabels: [],
    labels: names.join(""),
    height: Math.max(40, slots * ROW_HEIGHT),
    kind: slots > 15 ? "chart rows long" : slots < 4 ? "chart rows few" : "chart rows",
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

function gapText(rows: number, at: number): string {
  return `<text class="y" x="-6" y="${Number((100 * at).toFixed(2))}%" dy=".35em">${figure(rows, "count")} more</text>`;
}
