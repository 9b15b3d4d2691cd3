import { formatDay } from "../../contract/market/dates.ts";
import { lineChart } from "../charts/line-chart.ts";
import { figure, type Unit } from "../figures.ts";
import { keyLine, numbersTable, type Panel } from "./panel.ts";

/** A line over dates. */
export interface DatedLine {
  readonly title: string;
  readonly finding: string;
  /** Shape (n), ascending; NaN in `values` is a gap. */
  readonly days: Int32Array;
  readonly values: Float64Array;
  readonly unit: Unit;
  /** The name of the line in the readout. */
  readonly name: string;
  /** The meaning of the line. */
  readonly meaning: string;
  /** Half the width of a band around 0, shape (n), and its meaning; NaN without a band. */
  readonly band?: { readonly half: Float64Array; readonly meaning: string };
  /** A horizontal dashed line, and its meaning if the reader needs to know it. */
  readonly level?: { readonly value: number; readonly meaning?: string };
  /** Short ticks up from the axis, and their meaning. */
  readonly ticks?: { readonly days: readonly number[]; readonly meaning: string } | undefined;
  /** Columns of the table of numbers beside the date: shape (n) each. */
  readonly columns: readonly (readonly [name: string, values: Float64Array])[];
}

/** A line over dates with a key and its numbers; without values only its finding. */
export function linePanel({
  title,
  finding,
  days,
  values,
  unit,
  name,
  meaning,
  band,
  level,
  ticks,
  columns,
}: DatedLine): Panel {
  if (values.every(Number.isNaN)) return { title, finding, chart: "" };
  const drawn = band === undefined || band.half.every(Number.isNaN) ? undefined : band;
  return {
    title,
    finding,
    chart: lineChart({
      finding,
      x: days,
      xKind: "day",
      unit,
      lines: [{ name, values }],
      band: drawn && { low: drawn.half.map((half) => -half), high: drawn.half },
      levels: level === undefined ? [] : [level.value],
      ...(ticks && { ticks: ticks.days }),
    }),
    key: keyLine([
      ["line", meaning],
      ...(drawn === undefined ? [] : [["band", drawn.meaning] as const]),
      ...(level?.meaning === undefined ? [] : [["level", level.meaning] as const]),
      ...(ticks === undefined ? [] : [["at", ticks.meaning] as const]),
    ]),
    numbers: numbersTable({
      caption: title,
      columns: ["Date", ...columns.map(([column]) => column)],
      rows: Array.from(days, (_, i) => i)
        .filter((i) => columns.some(([, column]) => !Number.isNaN(column[i]!)))
        .map((i) => [formatDay(days[i]!), ...columns.map(([, column]) => figure(column[i], unit))]),
    }),
  };
}
