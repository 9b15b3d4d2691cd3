import type { ShrinkageChoice } from "../contract/config/panel-settings.ts";
import type { Day } from "../contract/market/dates.ts";
import { concatenate, type DatedForecasts, labelled, sliceRows } from "./forecast-rows.ts";
import { type Factors, shrinkageFactors } from "./shrinkage.ts";

/** A ticker without held-out rows gets its own factor from this many known score rows on: fewer have no error to judge it by. */
const MIN_ROWS = 30;

/** What the models of one ticker forecast for rows that they did not learn from. */
interface JudgedTicker {
  /** All labelled, and known when the first model was fitted. */
  readonly heldOut: DatedForecasts;
  /** The models' own forecasts, ascending by date. */
  readonly score: Omit<DatedForecasts, "ticker" | "realised"> & {
    /** Shape (n), NaN if the label is not known yet. */
    readonly labels: Float64Array;
    readonly labelDays: Int32Array;
  };
}

/**
 * The factors by which shrinkage multiplies the forecasts of each block, by ticker. Labels published after a block's first date do not
 * affect its factors: those of the first block come from the held-out rows, those of a later block also from the score rows of earlier
 * blocks whose labels are known by then.
 * @param blocks ascending; `known` is undefined for the first.
 */
export function blockFactors(
  choice: ShrinkageChoice,
  tickers: readonly JudgedTicker[],
  blocks: readonly { readonly known: Day | undefined }[],
): readonly Factors[] {
  const first = shrinkageFactors(
    choice,
    tickers.map(({ heldOut }) => heldOut),
  );
  if (choice === "none") return blocks.map(() => first);
  const histories = tickers.map(historyOf);
  return blocks.map(({ known }, b) => {
    if (b === 0) return first;
    const rows = histories.map((history) => {
      const later = history.labelDays.filter((day) => day > known!).length;
      return sliceRows(history.rows, 0, history.rows.days.length - later);
    });
    const factors = shrinkageFactors(choice, rows);
    if (choice !== "own") return factors;
    const hasOwn = (i: number) => tickers[i]!.heldOut.days.length > 0 || rows[i]!.days.length >= MIN_ROWS;
    const found = [...factors.byTicker].map(
      ([ticker, factor], i) => [ticker, hasOwn(i) ? factor : 0] as const,
    );
    return { byTicker: new Map(found) };
  });
}

/** The held-out rows, then the labelled score rows, with the days on which the labels of the latter are known. */
function historyOf({ heldOut, score }: JudgedTicker) {
  const { labelDays, ...scored } = labelled({ ...score, realised: score.labels });
  const both = (of: (rows: Omit<DatedForecasts, "ticker">) => Float64Array) =>
    concatenate([of(heldOut), of(scored)]);
  const rows: DatedForecasts = {
    ticker: heldOut.ticker,
    days: Int32Array.from([...heldOut.days, ...scored.days]),
    predicted: both(({ predicted }) => predicted),
    realised: both(({ realised }) => realised),
    levels: both(({ levels, days }) => levels ?? new Float64Array(days.length)),
  };
  return { rows, labelDays };
}
