import { MucastError } from "../contract/errors/errors.ts";
import type { Day } from "../contract/market/dates.ts";
import { MIN_DATE_TICKERS } from "./relative-target.ts";
import type { PanelRows } from "./ticker-panel.ts";

/** z-scores beyond this are clipped. */
export const MAX_Z_SCORE = 3;

/** A deviation of at most this share of the largest value on the date is rounding: all values are equal. */
const ROUNDING = 1e-12;

type Featured = Pick<PanelRows, "ticker" | "columns" | "days">;

/** Features that get a z-score, because enough tickers have them. */
export function scoredFeatures(panels: readonly Pick<Featured, "columns">[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const { columns } of panels) for (const name of columns) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Set([...counts].flatMap(([name, count]) => (count >= MIN_DATE_TICKERS ? [name] : [])));
}

/** The name of a feature's z-score. */
export function zScoreName(feature: string): string {
  return `${feature} (z)`;
}

/** How many tickers have a row with each scored feature, by date. */
export interface FeatureCounts extends Grid {
  /** Shape (calendar days, scored features). */
  readonly counts: Int32Array;
}

/** @throws MucastError out_of_memory if features and days make more than MAX_CELLS cells. */
export function countFeatures(panels: readonly Featured[], scored: ReadonlySet<string>): FeatureCounts {
  const grid = gridOf(panels, scored);
  const counts = new Int32Array(grid.cells);
  for (const panel of panels) {
    eachCell(panel, grid, (cell) => counts[cell]!++);
  }
  return { ...grid, counts };
}

/**
 * The rows, ascending, that have a z-score for each scored feature of their ticker: on their dates, at least MIN_DATE_TICKERS tickers have
 * it.
 */
export function rowsWithZScores(panel: Pick<Featured, "columns" | "days">, found: FeatureCounts): Int32Array {
  const missing = new Uint8Array(panel.days.length);
  const k = panel.columns.length;
  eachCell(panel, found, (cell, place) => {
    // A late ticker has rows outside the others' dates.
    if ((found.counts[cell] ?? 0) < MIN_DATE_TICKERS) missing[Math.floor(place / k)] = 1;
  });
  return Int32Array.from(missing.keys()).filter((row) => missing[row] === 0);
}

/** Cells of one scored feature and one calendar day. */
interface Grid {
  readonly numbers: ReadonlyMap<string, number>;
  readonly first: Day;
  readonly cells: number;
}

/** @throws MucastError out_of_memory for more than MAX_CELLS. */
function gridOf(panels: readonly Pick<Featured, "days">[], scored: ReadonlySet<string>): Grid {
  const first = panels.reduce((day, { days }) => Math.min(day, days[0] ?? day), Number.MAX_SAFE_INTEGER);
  const last = panels.reduce((day, { days }) => Math.max(day, days.at(-1) ?? day), first);
  const numbers = new Map([...scored].map((name, number) => [name, number]));
  const cells = panels.length === 0 ? 0 : (last - first + 1) * numbers.size;
  if (cells > MAX_CELLS) throw tooManyCells(numbers.size, last - first + 1);
  return { numbers, first, cells };
}

/** Rows of one ticker with its features. */
export interface FeatureRows {
  readonly columns: readonly string[];
  /** Shape (n), ascending. */
  readonly days: Int32Array;
  /** Shape (n, k), row-major, all finite. */
  readonly x: Float64Array;
}

/** Mean and deviation of each scored feature over the tickers that have a row with it, date by date. */
export interface CrossSections {
  readonly numbers: ReadonlyMap<string, number>;
  readonly first: Day;
  /** Shape (calendar days, scored features) each: the largest absolute value, and mean and deviation (ddof 0) in units of it. */
  readonly largest: Float64Array;
  readonly means: Float64Array;
  readonly deviations: Float64Array;
}

/** Maximum number of features times calendar days to compare: 4 GiB of sums. */
const MAX_CELLS = 2 ** 27;

function tooManyCells(features: number, days: number): MucastError {
  const message = `cross_section compares ${features} features over ${days} calendar days, and the limit is ${MAX_CELLS} pairs of a feature and a day: use fewer features, or shorten the window`;
  return new MucastError("out_of_memory", message, { features, days, most: MAX_CELLS });
}

/**
 * Reads all rows three times, a ticker at a time. Sums run in that order.
 * @param read the rows of each ticker, ascending by code point, so that the sums are the same to the bit.
 * @param panels the dates of the same tickers, in any order.
 * @throws MucastError out_of_memory if features and days make more than MAX_CELLS cells.
 */
export function crossSections(
  read: () => Iterable<FeatureRows>,
  panels: readonly Pick<Featured, "days">[],
  scored: ReadonlySet<string>,
): CrossSections {
  const { numbers, first, cells } = gridOf(panels, scored);
  const counts = new Float64Array(cells);
  const largest = new Float64Array(cells);
  const means = new Float64Array(cells);
  const deviations = new Float64Array(cells);
  // In units of the largest value, squares stay in the range of a float64.
  const share = (cell: number, value: number) => (largest[cell] === 0 ? 0 : value / largest[cell]!);
  const passes: ((cell: number, value: number) => void)[] = [
    (cell, value) => {
      counts[cell]!++;
      largest[cell] = Math.max(largest[cell]!, Math.abs(value));
    },
    (cell, value) => {
      means[cell]! += share(cell, value) / counts[cell]!;
    },
    (cell, value) => {
      const distance = share(cell, value) - means[cell]!;
      deviations[cell]! += (distance * distance) / counts[cell]!;
    },
  ];
  for (const see of passes) {
    for (const rows of read()) {
      eachCell(rows, { numbers, first }, (cell, place) => see(cell, rows.x[place]!));
    }
  }
  return { numbers, first, largest, means, deviations: deviations.map(Math.sqrt) };
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

/** Visits the scored features of each row in turn. @param see receives the cell of date and feature, and the index of the value in x. */
function eachCell(
  { columns, days }: Pick<FeatureRows, "columns" | "days">,
  { numbers, first }: Pick<CrossSections, "numbers" | "first">,
  see: (cell: number, place: number) => void,
): void {
  const k = columns.length;
  const scored = columns.flatMap((name, column) =>
    numbers.has(name) ? [[column, numbers.get(name)!] as const] : [],
  );
  for (let i = 0; i < days.length; i++) {
    const base = (days[i]! - first) * numbers.size;
    for (const [column, number] of scored) see(base + number, i * k + column);
  }
}

type MovedRows = Pick<PanelRows, "days" | "labelDays" | "y" | "spacing" | "volatility" | "fit" | "score">;

/** The panel with only the given rows, ascending. */
export function onRows<P extends MovedRows>(panel: P, rows: Int32Array): P {
  const places = new Int32Array(panel.days.length).fill(-1);
  for (const [to, from] of rows.entries()) places[from] = to;
  const moved = (list: Int32Array) => list.map((row) => places[row]!).filter((row) => row >= 0);
  const { days, labelDays, y, spacing, volatility, fit, score } = panel;
  return {
    ...panel,
    days: rows.map((row) => days[row]!),
    labelDays: rows.map((row) => labelDays[row]!),
    y: Float64Array.from(rows, (row) => y[row]!),
    spacing: rows.map((row) => spacing[row]!),
    volatility: Float64Array.from(rows, (row) => volatility[row]!),
    fit: moved(fit),
    score: moved(score),
  };
}
