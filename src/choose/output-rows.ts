import type { ChoiceMeasure } from "../contract/config/choice/choice-config.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type Day, parseDay } from "../contract/market/dates.ts";
import type { ChosenRows } from "../contract/output/chosen-outputs.ts";
import type { TestedFold } from "../evaluate/choice/candidate-losses.ts";
import { asRanked, type ForecastRows } from "../evaluate/forecast-rows.ts";
import { foldRows } from "../outputs/fold-rows.ts";
import type { OutputDocument } from "../outputs/open-document.ts";

/** The forecasts of one ticker in an output, whose realised returns are known. */
export interface OutputRows {
  readonly ticker: string;
  /** Shape (n), ascending. */
  readonly days: Int32Array;
  /**
   * Shape (n): the ticker's next date in the output, or with a delay that many dates later. The label is known then at the latest, as outputs do
   * not record when.
   */
  readonly labelDays: Int32Array;
  readonly predicted: Float64Array;
  readonly realised: Float64Array;
  /** In time order; together they have all rows. */
  readonly folds: readonly TestedFold[];
}

/** The number of dates that one choice among score rows serves: about a month. */
export const DATES_PER_CHOICE = 21;

/**
 * The rows of an output that a choice reads, tickers ascending by code point. With measure `ic`, the score rows have the forecasts whose
 * order is judged.
 * @throws MucastError invalid_request if the output has no such rows.
 */
export function outputRows(output: OutputDocument, rows: ChosenRows, measure: ChoiceMeasure): OutputRows[] {
  const found = rows === "score" ? scoreRows(output, measure) : outOfFoldRows(output);
  const kept = found.filter(({ days }) => days.length > 0);
  if (kept.length > 0) return kept;
  const advice =
    rows === "score"
      ? "its score rows have no realised returns"
      : "it has no out-of-fold rows; networks never have any, so compare score rows with --rows score";
  throw new MucastError("invalid_request", `${output.name} cannot be chosen: ${advice}`, {
    source: output.name,
    path: "--output",
  });
}

function outOfFoldRows(output: OutputDocument): OutputRows[] {
  const { outOfFold = [], rows, document } = output;
  const { as_of, delay } = document.window;
  const scored = new Map(rows.map((row) => [row.ticker, row.days[0]]));
  const folds = outOfFold.length === 0 ? [] : foldRows(output);
  return outOfFold.map(({ ticker, days, predicted, realised }, i) => ({
    ...{ ticker, days, predicted, realised },
    labelDays: laterDays(days, delay, scored.get(ticker) ?? parseDay(as_of)),
    folds: folds[i]!.filter(({ from, to }) => from < to).map(({ from, to }) => ({
      ...{ from, to },
      first: days[from]!,
    })),
  }));
}

/** The date 1 + `delay` dates after each. @param after that of the last ones. */
function laterDays(days: Int32Array, delay = 0, after?: Day): Int32Array {
  return days.map((day, i) => days[i + 1 + delay] ?? after ?? day);
}

/** Score rows with a realised return; every ticker's folds begin on the same dates. */
function scoreRows({ rows, document }: OutputDocument, measure: ChoiceMeasure): OutputRows[] {
  const { as_of, delay } = document.window;
  const labelled = rows.map((row) =>
    // The verdict judges the order of the model's own forecasts, too.
    withLabel(measure === "ic" ? asRanked(row) : row, laterDays(row.days, delay, parseDay(as_of))),
  );
  const dates = [...new Set(labelled.flatMap(({ days }) => [...days]))].sort((a, b) => a - b);
  const starts = dates.filter((_, i) => i % DATES_PER_CHOICE === 0);
  return labelled.map((row) => ({ ...row, folds: foldsFrom(row.days, starts) }));
}

function withLabel(
  { ticker, days, predicted, realised }: ForecastRows,
  known: Int32Array,
): Omit<OutputRows, "folds"> {
  const kept = [...realised.keys()].filter((i) => !Number.isNaN(realised[i]!));
  const taken = (values: Float64Array) => Float64Array.from(kept, (i) => values[i]!);
  return {
    ticker,
    days: Int32Array.from(kept, (i) => days[i]!),
    labelDays: Int32Array.from(kept, (i) => known[i]!),
    predicted: taken(predicted),
    realised: taken(realised),
  };
}

/** @param starts ascending: the dates on which folds begin. */
function foldsFrom(days: Int32Array, starts: readonly Day[]): TestedFold[] {
  const folds: TestedFold[] = [];
  let from = 0;
  for (const [k, first] of starts.entries()) {
    const end = starts[k + 1] ?? Number.POSITIVE_INFINITY;
    let to = from;
    while (to < days.length && days[to]! < end) to++;
    if (to > from) folds.push({ from, to, first });
    from = to;
  }
  return folds;
}
