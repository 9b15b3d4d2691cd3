import { columnChart } from "../charts/column-chart.ts";
import { bandFigure, figure, NO_FIGURE, type Unit, wholePercent } from "../figures.ts";
import type { Band } from "../statistics/over-dates.ts";
import { keyLine, numbersTable, type Panel } from "./panel.ts";

/** Means over dates, a column for each. */
export interface DateMeans {
  readonly title: string;
  readonly finding: string;
  readonly unit: Unit;
  /** The meaning of a column. */
  readonly meaning: string;
  /** Of the table of numbers. */
  readonly caption: string;
  /** The headings of the names and of the means in that table. */
  readonly headings: readonly [name: string, mean: string];
  readonly means: readonly DateMean[];
}

interface DateMean {
  /** In the table, and below the column unless it has a label. */
  readonly name: string;
  readonly label?: string;
  readonly dates: number;
  readonly mean: number;
  readonly band: Band | null;
}

/** Columns with their bands, a key, and their numbers. */
export function meanPanel({ title, finding, unit, meaning, caption, headings, means }: DateMeans): Panel {
  const band = `${wholePercent(95)} band`;
  return {
    title,
    finding,
    chart: columnChart({
      finding,
      labels: means.map(({ name, label = name }) => label),
      unit,
      series: [means.map(({ mean }) => mean)],
      bands: means.map((one) => one.band),
    }),
    key: keyLine([
      ["bar", meaning],
      ["whisker", `its ${band}`],
    ]),
    numbers: numbersTable({
      caption,
      columns: [headings[0], "Dates", headings[1], band],
      rows: means.map((one) => [
        one.name,
        figure(one.dates, "count"),
        figure(one.mean, unit),
        one.band === null ? NO_FIGURE : bandFigure(one.band, unit),
      ]),
    }),
  };
}
