/** Random panels of a few tickers, for properties of code that compares tickers. */
import fc from "fast-check";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY, priceSpacing } from "./labels.ts";

/** The rows of one ticker, without features. */
export interface RandomPanel {
  readonly ticker: string;
  readonly columns: readonly string[];
  readonly days: Int32Array;
  readonly labelDays: Int32Array;
  readonly y: Float64Array;
  readonly spacing: Int32Array;
  readonly volatility: Float64Array;
  readonly fit: Int32Array;
  readonly score: Int32Array;
}

const TICKERS = ["A", "B", "😀", "～", "10", "2", "C"];
const COLUMNS = ["f", "g", "h"];

/** Up to seven tickers over `length` days, each with its own gaps; labels known at `cut` are fit labels. */
export function randomPanels(length: number, cut: number, delay = 0): fc.Arbitrary<RandomPanel[]> {
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
    .map((drawn) => drawn.map((given, i) => panelOf(TICKERS[i]!, given, cut, delay)));
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
  delay: number,
): RandomPanel {
  const days = [...given.cells.keys()].filter((day) => day >= given.first && given.cells[day]!.isPresent);
  const labelDay = (i: number) => {
    const steps = days.slice(i, i + 2 + delay);
    const hasGap = steps.some((day, at) => at > 0 && day - steps[at - 1]! > 10);
    return steps.length < 2 + delay || hasGap ? NO_LABEL_DAY : steps.at(-1)!;
  };
  const labelDays = Int32Array.from(days, (_, i) => labelDay(i));
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
    spacing: priceSpacing(Int32Array.from(days)),
    volatility: Float64Array.from(days, (day) => given.cells[day]!.volatility),
    fit,
    score: rows.filter((row) => fit.every((learned) => labelDays[learned]! <= days[row]!)),
  };
}

export function ascending<P extends { readonly ticker: string }>(panels: readonly P[]): P[] {
  return panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
}
