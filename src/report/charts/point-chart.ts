import type { CalibrationBin } from "../statistics/calibration.ts";
import { dot, GRID, gridX, gridY, segment } from "./path.ts";
import { mark, plotSvg, tickLabels, xGrid, yGrid } from "./plot.ts";
import { linearScale, type Scale } from "./scale.ts";

/** Realised returns by forecast, both log-returns, with the line where they are equal. */
export function calibrationChart(finding: string, bins: readonly CalibrationBin[]): string {
  const x = linearScale([0, ...bins.map(({ predicted }) => predicted)]);
  const ends = bins.flatMap(({ band }) => (band === null ? [] : [band.low, band.high]));
  const y = linearScale([0, ...bins.map(({ realised }) => realised), ...ends]);
  const column = (value: number) => gridX(x.share(value));
  const row = (value: number) => gridY(y.share(value));
  const bands = bins.map(({ predicted, band }) =>
    band === null ? "" : segment(column(predicted), row(band.low), column(predicted), row(band.high)),
  );
  const marks = [
    xGrid(x),
    yGrid(y),
    mark("level", equality(x, y)),
    mark("whisker", bands.join("")),
    mark("dot large", bins.map(({ predicted, realised }) => dot(column(predicted), row(realised))).join("")),
  ];
  const labels = tickLabels(x, "return").map((label, i, all) => ({
    ...label,
    isSpare: all.length > 3 && i % 2 === 1,
  }));
  return plotSvg({ finding, marks, xLabels: labels, yLabels: tickLabels(y, "return"), height: 240 });
}

/** The part of the diagonal within both scales. */
function equality(x: Scale, y: Scale): string {
  const [from, to] = [Math.max(x.low, y.low), Math.min(x.high, y.high)];
  if (from >= to) return "";
  const [left, right] = [gridX(x.share(from)), gridX(x.share(to))];
  return segment(left, gridY(y.share(from)), Math.min(GRID, right), gridY(y.share(to)));
}
