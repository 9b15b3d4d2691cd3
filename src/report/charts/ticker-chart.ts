import { area, dot, gridY, type Point, polyline, segment } from "../../view/path.ts";
import { columnsOf } from "./line-chart.ts";
import { mark, plotSvg, tickLabels, timeLabels, yGrid } from "./plot.ts";
import { linearScale, type Scale } from "./scale.ts";

/** All score rows of a ticker; a page with many tickers draws fewer points. */
export interface TickerSeries {
  readonly days: Int32Array;
  readonly predicted: Float64Array;
  /** NaN if it is not known yet. */
  readonly realised: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

/** Dates that share one column of a chart: their returns as a range from 0, and means of everything else. */
interface Column {
  readonly x: number;
  readonly predicted: number;
  readonly lower: number;
  readonly upper: number;
  readonly least: number;
  readonly most: number;
}

/**
 * Forecasts and intervals of a ticker against realised returns. Returns outside their interval are marked.
 * @param columns the maximum number of columns: with more dates, each column covers several.
 */
export function tickerChart(finding: string, series: TickerSeries, columns: number): string {
  const { days, realised, lower, upper } = series;
  const drawn = columnsWithin(series, columns);
  const y = linearScale(
    drawn.flatMap(({ predicted, lower: low, upper: high, least, most }) => [
      predicted,
      low,
      high,
      least,
      most,
    ]),
  );
  const column = columnsOf(days);
  const row = (value: number) => gridY(y.share(value));
  const ranges = drawn.filter(({ least }) => !Number.isNaN(least));
  const misses: string[] = [];
  for (let i = 0; i < realised.length; i++) {
    const value = realised[i]!;
    if (value < lower[i]! || value > upper[i]!) misses.push(dot(column(days[i]!), row(value)));
  }
  const line = drawn.map(({ x, predicted }): Point | null =>
    Number.isNaN(predicted) ? null : [x, row(predicted)],
  );
  const marks = [
    yGrid(y),
    mark("band", bandPath(drawn, y)),
    mark("return", ranges.map(({ x, least, most }) => segment(x, row(most), x, row(least))).join("")),
    mark("dot miss", misses.join("")),
    mark("line", polyline(line), "forecast"),
  ];
  const xLabels = timeLabels(days[0]!, days.at(-1)!);
  return plotSvg({ finding, marks, xLabels, yLabels: tickLabels(y, "return"), height: 200 });
}

function columnsWithin({ days, predicted, realised, lower, upper }: TickerSeries, columns: number): Column[] {
  const column = columnsOf(days);
  const size = Math.max(1, Math.ceil(days.length / columns));
  return Array.from({ length: Math.ceil(days.length / size) }, (_, k) => {
    const [from, to] = [k * size, Math.min(days.length, (k + 1) * size)];
    const [least, most] = rangeFromZero(realised.subarray(from, to));
    return {
      x: column(days[from + Math.floor((to - from) / 2)]!),
      predicted: meanOf(predicted.subarray(from, to)),
      lower: meanOf(lower.subarray(from, to)),
      upper: meanOf(upper.subarray(from, to)),
      least,
      most,
    };
  });
}

/** The smallest range that contains 0 and the returns; NaN without a number. */
function rangeFromZero(returns: Float64Array): readonly [least: number, most: number] {
  let [least, most, known] = [0, 0, 0];
  for (let i = 0; i < returns.length; i++) {
    const value = returns[i]!;
    if (Number.isNaN(value)) continue;
    known++;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return known === 0 ? [Number.NaN, Number.NaN] : [least, most];
}

/** NaN without a number. */
function meanOf(values: Float64Array): number {
  let [sum, known] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) continue;
    sum += values[i]!;
    known++;
  }
  return sum / known;
}

/** With only one end, the band continues to the frame. */
function bandPath(columns: readonly Column[], y: Scale): string {
  const bounded = columns.filter(({ lower, upper }) => !Number.isNaN(lower) || !Number.isNaN(upper));
  return area(
    bounded.map(({ x, lower, upper }) => ({
      x,
      top: Number.isNaN(upper) ? 0 : gridY(y.share(upper)),
      bottom: Number.isNaN(lower) ? gridY(0) : gridY(y.share(lower)),
    })),
  );
}
