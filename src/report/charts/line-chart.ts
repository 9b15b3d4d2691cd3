import { ticks } from "d3-array";
import { scaleLinear } from "d3-scale";
import type { Day } from "../../contract/market/dates.ts";
import type { Unit } from "../../view/figures.ts";
import { area, GRID, gridX, gridY, type Point, polyline, segment } from "../../view/path.ts";
import { AXIS_FORMATS, type AxisLabel, mark, plotSvg, tickLabels, timeLabels, yGrid } from "./plot.ts";
import { extentOf, linearScale, type Scale, type ScaledChart } from "./scale.ts";

/** Lines over a common x: dates or epochs. */
export interface LineChart {
  readonly finding: string;
  /** Shape (n), ascending. */
  readonly x: Int32Array;
  readonly xKind: "day" | "epoch";
  readonly unit: Unit;
  /** Shape (n) each, or shorter if they end early; NaN is a gap. The first line is solid, the second dashed. */
  readonly lines: readonly { readonly name: string; readonly values: Float64Array }[];
  /** Thin lines behind these, of the same shape. */
  readonly faint?: readonly Float64Array[];
  readonly band?: LineBand | undefined;
  /** A darker band within it. */
  readonly inner?: LineBand | undefined;
  /** Horizontal dashed lines. */
  readonly levels?: readonly number[];
  /** A vertical line. */
  readonly at?: number | undefined;
  /** Short ticks up from the x axis. */
  readonly ticks?: readonly number[];
  readonly height?: number;
}

interface LineBand {
  readonly low: Float64Array;
  readonly high: Float64Array;
}

/** The length of a tick on the grid. */
const TICK_LENGTH = GRID / 20;

export function lineChart(chart: LineChart): ScaledChart {
  return { extent: extentOf(valuesOf(chart)), draw: (within) => drawn(chart, within) };
}

function drawn(chart: LineChart, within: readonly number[]): string {
  const { finding, x, xKind, unit, lines, faint = [], band, inner, levels = [], at, height = 160 } = chart;
  const ups = (chart.ticks ?? []).filter((value) => value >= x[0]! && value <= x.at(-1)!);
  const y = linearScale([...valuesOf(chart), ...within]);
  const [first, last] = [x[0]!, x.at(-1)!];
  const column = columnsOf(x);
  const marks = [
    yGrid(y),
    band === undefined ? "" : mark("band", bandPath(band, column, y, x)),
    inner === undefined ? "" : mark("band inner", bandPath(inner, column, y, x)),
    ...levels.map((level) => mark("level", horizontalAt(gridY(y.share(level))))),
    at === undefined ? "" : mark("at", segment(column(at), 0, column(at), GRID)),
    mark("at", ups.map((value) => segment(column(value), GRID - TICK_LENGTH, column(value), GRID)).join("")),
    mark("line faint", faint.map((values) => linePath(values, x, column, y)).join("")),
    ...lines.map(({ name, values }, i) =>
      mark(i === 0 ? "line" : "line second", linePath(values, x, column, y), name),
    ),
  ];
  const { factor, symbol, isSigned } = AXIS_FORMATS[unit];
  const readout = ` data-x="${xKind}" data-from="${first}" data-to="${last}" data-low="${brief(y.low)}" data-high="${brief(y.high)}" data-factor="${factor}" data-symbol="${symbol}" data-signed="${isSigned}"`;
  const xLabels = xKind === "day" ? timeLabels(first, last) : epochLabels(first, last);
  return plotSvg({ finding, marks, xLabels, yLabels: tickLabels(y, unit), height, readout });
}

function* valuesOf({ lines, faint = [], band, inner, levels }: LineChart): Iterable<number> {
  for (const { values } of lines) yield* values;
  for (const values of faint) yield* values;
  for (const ends of [band, inner]) {
    if (ends === undefined) continue;
    yield* ends.low;
    yield* ends.high;
  }
  if (levels !== undefined) yield* levels;
}

/** The columns of the grid for the values of x. */
export function columnsOf(x: Int32Array): (value: Day) => number {
  const share = scaleLinear().domain([x[0]!, x.at(-1)!]);
  return (value) => gridX(share(value));
}

/** The path of a line, with its gaps. */
function linePath(values: Float64Array, x: Int32Array, column: (value: Day) => number, y: Scale): string {
  return polyline(
    Array.from(values, (value, i): Point | null =>
      Number.isNaN(value) ? null : [column(x[i]!), gridY(y.share(value))],
    ),
  );
}

function bandPath({ low, high }: LineBand, column: (value: Day) => number, y: Scale, x: Int32Array): string {
  return area(
    Array.from(low, (value, i) => ({
      x: column(x[i]!),
      top: gridY(y.share(high[i]!)),
      bottom: gridY(y.share(value)),
    })).filter(({ top, bottom }) => !Number.isNaN(top) && !Number.isNaN(bottom)),
  );
}

function horizontalAt(y: number): string {
  return segment(0, y, GRID, y);
}

function epochLabels(first: number, last: number): AxisLabel[] {
  if (first === last) return [{ at: 0.5, text: String(first) }];
  return ticks(first, last, 6)
    .filter((tick) => Number.isInteger(tick))
    .map((tick) => ({ at: (tick - first) / (last - first), text: String(tick) }));
}

function brief(value: number): string {
  return String(Number(value.toPrecision(6)));
}
