import type { Unit } from "../../view/figures.ts";
import { box, dot, GRID, gridX, gridY, segment } from "../../view/path.ts";
import type { Histogram } from "../statistics/histogram.ts";
import type { Band } from "../statistics/over-dates.ts";
import { type AxisLabel, mark, plotSvg, tickLabels, yGrid } from "./plot.ts";
import { extentOf, linearScale, type Scale, type ScaledChart, scaleBetween } from "./scale.ts";

/** Columns by category, one or two side by side. */
export interface ColumnChart {
  readonly finding: string;
  readonly labels: readonly string[];
  readonly unit: Unit;
  /** Shape (labels) each; null draws no column. The second column is hollow. */
  readonly series: readonly (readonly (number | null)[])[];
  /** For the columns of the first series. */
  readonly bands?: readonly (Band | null)[];
  /** Dots on the columns; null draws no dot. */
  readonly dots?: readonly (number | null)[];
  readonly level?: number;
  /** Coverage is compared with the requested coverage, not with 0. */
  readonly isFromLevel?: boolean;
  /** Whether a column of the first series that ends below its base shows something bad. */
  readonly isJudged?: boolean;
  readonly height?: number;
}

/** Share of a category's width that its columns fill. */
const FILL = 0.7;

export function columnChart(chart: ColumnChart): ScaledChart {
  const values = valuesOf(chart);
  return { extent: extentOf(values), draw: (within) => drawn(chart, [...values, ...within]) };
}

function valuesOf({ series, bands = [], dots = [], level, isFromLevel }: ColumnChart): number[] {
  const ends = bands.flatMap((band) => (band === null ? [] : [band.low, band.high]));
  const values = [...series.flat(), ...dots].filter((value) => value !== null);
  return [...(isFromLevel ? [] : [0]), ...(level === undefined ? [] : [level]), ...values, ...ends];
}

function drawn(chart: ColumnChart, values: readonly number[]): string {
  const { finding, labels, unit, series, bands = [], dots = [], level, height = 160 } = chart;
  const base = chart.isFromLevel ? level! : 0;
  const y = linearScale(values);
  const middle = (i: number) => gridX((i + 0.5) / labels.length);
  const marks = [
    yGrid(y),
    ...series.flatMap((column, k) => {
      const drawnIf = (isDrawn: (value: number) => boolean) =>
        columns(
          column.map((value) => (value !== null && isDrawn(value) ? value : null)),
          k,
          series.length,
          base,
          y,
        );
      if (k > 0)
        return [
          mark(
            "bar second",
            drawnIf(() => true),
          ),
        ];
      const isBad = (value: number) => chart.isJudged === true && value < base;
      return [
        mark(
          "bar",
          drawnIf((value) => !isBad(value)),
        ),
        mark("bar bad", drawnIf(isBad)),
      ];
    }),
    level === undefined ? "" : mark("level", segment(0, gridY(y.share(level)), GRID, gridY(y.share(level)))),
    mark("whisker", bands.map((band, i) => (band === null ? "" : whisker(middle(i), band, y))).join("")),
    mark(
      "dot second",
      dots.map((value, i) => (value === null ? "" : dot(middle(i), gridY(y.share(value))))).join(""),
    ),
  ];
  return plotSvg({ finding, marks, xLabels: categoryLabels(labels), yLabels: tickLabels(y, unit), height });
}

function columns(
  values: readonly (number | null)[],
  k: number,
  count: number,
  base: number,
  y: Scale,
): string {
  const wide = FILL / count;
  const at = (i: number, part: number) => gridX((i + (1 - FILL) / 2 + part * wide) / values.length);
  const foot = gridY(y.share(base));
  return values
    .map((value, i) => (value === null ? "" : box(at(i, k), gridY(y.share(value)), at(i, k + 0.92), foot)))
    .join("");
}

function whisker(x: number, { low, high }: Band, y: Scale): string {
  return segment(x, gridY(y.share(low)), x, gridY(y.share(high)));
}

/** One label per category, or every second, third, … if there are many. */
function categoryLabels(labels: readonly string[]): AxisLabel[] {
  const every = Math.ceil(labels.length / 16);
  return labels.flatMap((text, i) =>
    i % every === 0
      ? [{ at: (i + 0.5) / labels.length, text, isSpare: labels.length / every > 8 && (i / every) % 2 === 1 }]
      : [],
  );
}

/** Counts by value, with a line at a reference. */
export function histogramChart(
  finding: string,
  { edges, counts }: Histogram,
  unit: Unit,
  reference: number | undefined,
): string {
  const y = linearScale([0, ...counts], 3);
  const [low, high] = extentOf([edges[0]!, edges.at(-1)!, ...(reference === undefined ? [] : [reference])]);
  const x = scaleBetween(low!, high!, 5);
  const foot = gridY(0);
  const bars = Array.from(counts, (count, i) =>
    count === 0
      ? ""
      : box(gridX(x.share(edges[i]!)), gridY(y.share(count)), gridX(x.share(edges[i + 1]!)), foot),
  );
  const column = reference === undefined ? undefined : gridX(x.share(reference));
  const marks = [
    yGrid(y),
    mark("bar edged", bars.join("")),
    column === undefined ? "" : mark("at", segment(column, 0, column, GRID)),
  ];
  const xLabels = tickLabels(x, unit).map((label, i, all) => ({
    ...label,
    isSpare: all.length > 4 && i % 2 === 1,
  }));
  return plotSvg({ finding, marks, xLabels, yLabels: tickLabels(y, "count"), height: 140 });
}
