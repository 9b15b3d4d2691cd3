import { MucastError } from "../contract/errors/errors.ts";
import type { Day } from "../contract/market/dates.ts";
import { MIN_DATE_TICKERS } from "./relative-target.ts";
import type { PanelRows, TickerPanel } from "./ticker-panel.ts";

/** z-scores beyond this are clipped. */
export const MAX_Z_SCORE = 3;

/** A deviation of at most this share of the largest value on the date is rounding: all values are equal. */
const ROUNDING = 1e-12;

type Featured = Pick<PanelRows, "columns" | "days">;

export type FeatureRows = Pick<TickerPanel, "columns" | "days" | "x">;

/** Features that get a z-score, because enough tickers have them. */
export function scoredFeatures(panels: readonly Pick<Featured, "columns">[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const { columns } of panels) for (const name of columns) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Set([...counts.keys()].filter((name) => counts.get(name)! >= MIN_DATE_TICKERS));
}

export function zScoreName(feature: string): string {
  return `${feature} (z)`;
}

/** Cells of one scored feature and one calendar day. */
interface Grid {
  readonly numbers: ReadonlyMap<string, number>;
  readonly first: Day;
  readonly cells: number;
}

/** Maximum number of features times calendar days to compare: 4 GiB of sums. */
const MAX_CELLS = 2 ** 27;

/** @throws MucastError out_of_memory for more than MAX_CELLS. */
function gridOf(panels: readonly Featured[], scored: ReadonlySet<string>): Grid {
  const first = panels.reduce((day, { days }) => Math.min(day, days[0] ?? day), Number.MAX_SAFE_INTEGER);
  const last = panels.reduce((day, { days }) => Math.max(day, days.at(-1) ?? day), first);
  const [features, days] = [scored.size, panels.length === 0 ? 0 : last - first + 1];
  if (features * days > MAX_CELLS) {
    const message = `cross_section compares ${features} features over ${days} calendar days, and the limit is ${MAX_CELLS} pairs of a feature and a day: use fewer features, or shorten the window`;
    throw new MucastError("out_of_memory", message, { features, days, most: MAX_CELLS });
  }
  return {
    numbers: new Map([...scored].map((name, number) => [name, number])),
    first,
    cells: features * days,
  };
}

/** Visits the scored features of each row in turn. @param see receives the cell of date and feature, and the index of the value in x. */
function eachCell(
  { columns, days }: Featured,
  { numbers, first }: Grid,
  see: (cell: number, place: number) => void,
): void {
  const scored = columns.flatMap((name, column) =>
    numbers.has(name) ? [[column, numbers.get(name)!] as const] : [],
  );
  for (let i = 0; i < days.length; i++) {
    const base = (days[i]! - first) * numbers.size;
    for (const [column, number] of scored) see(base + number, i * columns.length + column);
  }
}

/**
 * How many tickers have a row with each scored feature, by date: shape (calendar days, scored features).
 * @throws MucastError out_of_memory for more than MAX_CELLS.
 */
export function countFeatures(panels: readonly Featured[], scored: ReadonlySet<string>) {
  const grid = gridOf(panels, scored);
  const counts = new Int32Array(grid.cells);
  for (const panel of panels) eachCell(panel, grid, (cell) => counts[cell]!++);
  return { ...grid, counts };
}

/** The rows, ascending, on whose dates at least MIN_DATE_TICKERS tickers have each scored feature of the ticker. */
export function rowsWithZScores(panel: Featured, found: ReturnType<typeof countFeatures>): Int32Array {
  const isMissing = new Uint8Array(panel.days.length);
  eachCell(panel, found, (cell, place) => {
    // A late ticker has rows outside the others' dates.
    const count = found.counts[cell] ?? 0;
    if (count < MIN_DATE_TICKERS) isMissing[Math.floor(place / panel.columns.length)] = 1;
  });
  return panel.days.map((_, row) => row).filter((row) => isMissing[row] === 0);
}

export type CrossSections = ReturnType<typeof crossSections>;

/**
 * Mean and deviation of each scored feature over the tickers that have a row with it, date by date. Reads all rows three times, a ticker at a
 * time.
 * @param read the rows of each ticker, ascending by code point, which is the order of the sums.
 * @param panels the dates of the same tickers, in any order.
 * @returns shape (calendar days, scored features) each: the largest absolute value, and mean and deviation (ddof 0) in units of it.
 * @throws MucastError out_of_memory for more than MAX_CELLS.
 */
export function crossSections(
  read: () => Iterable<FeatureRows>,
  panels: readonly Featured[],
  scored: ReadonlySet<string>,
) {
  const grid = gridOf(panels, scored);
  const [counts, largest] = [new Float64Array(grid.cells), new Float64Array(grid.cells)];
  const [means, deviations] = [new Float64Array(grid.cells), new Float64Array(grid.cells)];
  const eachValue = (see: (cell: number, value: number) => void) => {
    for (const rows of read()) eachCell(rows, grid, (cell, place) => see(cell, rows.x[place]!));
  };
  eachValue((cell, value) => {
    counts[cell]!++;
    largest[cell] = Math.max(largest[cell]!, Math.abs(value));
  });
  // In units of the largest value, squares stay in the range of a float64.
  const share = (cell: number, value: number) => (largest[cell] === 0 ? 0 : value / largest[cell]!);
  eachValue((cell, value) => {
    means[cell]! += share(cell, value) / counts[cell]!;
  });
  eachValue((cell, value) => {
    const distance = share(cell, value) - means[cell]!;
    deviations[cell]! += (distance * distance) / counts[cell]!;
  });
  return { ...grid, largest, means, deviations: deviations.map(Math.sqrt) };
}

/**
 * The z-scores of a ticker's rows: (value - mean) / deviation over the tickers that have the feature on the date, within [-MAX_Z_SCORE,
 * MAX_Z_SCORE]; 0 if all values are equal up to rounding. Everything is known at the close of the date.
 * @returns shape (n, scored features of the ticker), row-major, in the order of its columns.
 */
export function zScores(rows: FeatureRows, sections: CrossSections): Float64Array {
  const { numbers, largest, means, deviations } = sections;
  const width = rows.columns.filter((name) => numbers.has(name)).length;
  const scores = new Float64Array(rows.days.length * width);
  let at = 0;
  eachCell(rows, sections, (cell, place) => {
    const deviation = deviations[cell]!;
    if (deviation > ROUNDING) {
      const z = (rows.x[place]! / largest[cell]! - means[cell]!) / deviation;
      scores[at] = Math.max(-MAX_Z_SCORE, Math.min(MAX_Z_SCORE, z));
    }
    at++;
  });
  return scores;
}

type MovedRows = Pick<PanelRows, "days" | "labelDays" | "y" | "spacing" | "volatility" | "fit" | "score">;

/** The panel with only the given rows, ascending. */
export function onRows<P extends MovedRows>(panel: P, rows: Int32Array): P {
  const places = new Int32Array(panel.days.length).fill(-1);
  for (const [to, from] of rows.entries()) places[from] = to;
  const move = (list: Int32Array) => list.map((row) => places[row]!).filter((row) => row >= 0);
  const { days, labelDays, y, spacing, volatility, fit, score } = panel;
  return {
    ...panel,
    days: rows.map((row) => days[row]!),
    labelDays: rows.map((row) => labelDays[row]!),
    y: Float64Array.from(rows, (row) => y[row]!),
    spacing: rows.map((row) => spacing[row]!),
    volatility: Float64Array.from(rows, (row) => volatility[row]!),
    fit: move(fit),
    score: move(score),
  };
}
