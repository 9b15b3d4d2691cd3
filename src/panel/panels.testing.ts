/** Random panels of a few tickers, for properties of code that compares tickers. */
import fc from "fast-check";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY } from "./labels.ts";

/** The rows of one ticker, without features. */
export interface RandomPanel {
  readonly ticker: string;
  readonly columns: readonly string[];
  readonly days: Int32Array;
  readonly labelDays: Int32Array;
  readonly y: Float64Array;
  readonly volatility: Float64Array;
  readonly fit: Int32Array;
  readonly score: Int32Array;
}

const TICKERS = ["A", "B", "😀", "～", "10", "2", "C"];
const COLUMNS = ["f", "g", "h"];

/** Up to seven tickers over `length` days, each with its own gaps; labels known at `cut` are fit labels. */
export function randomPanels(length: number, cut: number): fc.Arbitrary<RandomPanel[]> {
  const day = fc.record({
    isPresent: fc.integer({ min: 0, max: 9 }).map((drawn) => drawn > 1),
    y: fc.double({ min: -1, max: 1, noNaN: true }),
    volatility: fc.constantFrom(Number.NaN, 0, 0.01, 0.02, 0.5, 0.01, 0.02),
  });
  const panel = fc.record({
    first: fc.integer({ min: 0, max: length - 4 }),
    cells: fc.array(day, { minLength: length, maxLength: length }),
    columns: fc.subarray(COLUMNS, { minLength: 1 }),
  });
  return fc
    .array(panel, { minLength: 3, maxLength: TICKERS.length })
    .map((drawn) => drawn.map((given, i) => panelOf(TICKERS[i]!, given, cut)));
}

function panelOf(
  ticker: string,
  given: {
    readonly first: number;
    readonly cells: readonly {
      readonly isPresent: boolean;
      readonly y: number;
      readonly volatility: number;
    }[];
    readonly columns: readonly string[];
  },
  cut: number,
): RandomPanel {
  const days = [...given.cells.keys()].filter((day) => day >= given.first && given.cells[day]!.isPresent);
  const next = (i: number) =>
    i + 1 < days.length && days[i + 1]! - days[i]! <= 10 ? days[i + 1]! : NO_LABEL_DAY;
  const labelDays = Int32Array.from(days, (_, i) => next(i));
  const rows = Int32Array.from(days.keys());
  const fit = rows.filter((row) => labelDays[row] !== NO_LABEL_DAY && labelDays[row]! <= cut);
  return {
    ticker,
    columns: given.columns,
    days: Int32Array.from(days),
    labelDays,
    y: Float64Array.from(days, (day, i) =>
      labelDays[i] === NO_LABEL_DAY ? Number.NaN : given.cells[day]!.y,
    ),
    volatility: Float64Array.from(days, (day) => given.cells[day]!.volatility),
    fit,
    score: rows.subarray((fit.at(-1) ?? -1) + 1),
  };
}

export function ascending<P extends { readonly ticker: string }>(panels: readonly P[]): P[] {
  return panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
}

/** The return value of a generator of turns. */
export function finished<T>(turns: Generator<unknown, T>): T {
  for (;;) {
    const step = turns.next();
    if (step.done) return step.value;
  }
}
