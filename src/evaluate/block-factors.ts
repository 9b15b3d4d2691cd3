import type { ShrinkageChoice } from "../contract/config/panel-settings.ts";
import type { Day } from "../contract/market/dates.ts";
import { concatenate, type DatedForecasts } from "./forecast-rows.ts";
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
  const factors = [first];
  for (const { known } of blocks.slice(1)) {
    const rows = histories.map((history) => upTo(history, known!));
    const found = shrinkageFactors(choice, rows);
    if (choice !== "own") factors.push(found);
    else {
      const byTicker = new Map(found.byTicker);
      for (const [i, { heldOut }] of tickers.entries()) {
        if (heldOut.days.length === 0 && rows[i]!.days.length < MIN_ROWS) byTicker.set(heldOut.ticker, 0);
      }
      factors.push({ byTicker });
    }
  }
  return factors;
}

/** Held-out rows, then labelled score rows. */
interface History {
  readonly rows: DatedForecasts;
  /** Shape (labelled score rows), ascending. */
  readonly labelDays: Int32Array;
}

function historyOf({ heldOut, score }: JudgedTicker): History {
  const labelled = Int32Array.from(score.labels.keys()).filter((row) => !Number.isNaN(score.labels[row]!));
  const select = (values: Float64Array) => Float64Array.from(labelled, (row) => values[row]!);
  const { ticker, days, predicted, realised } = heldOut;
  const levelsOf = (rows: Pick<DatedForecasts, "days" | "levels">) =>
    rows.levels ?? new Float64Array(rows.days.length);
  return {
    rows: {
      ticker,
      days: Int32Array.from([...days, ...labelled.map((row) => score.days[row]!)]),
      predicted: concatenate([predicted, select(score.predicted)]),
      realised: concatenate([realised, select(score.labels)]),
      levels: concatenate([levelsOf(heldOut), select(levelsOf(score))]),
    },
    labelDays: labelled.map((row) => score.labelDays[row]!),
  };
}

/** The rows whose labels are known at the close of `known`. */
function upTo({ rows, labelDays }: History, known: Day): DatedForecasts {
  const later = labelDays.findIndex((day) => day > known);
  const end = rows.days.length - (later < 0 ? 0 : labelDays.length - later);
  return {
    ticker: rows.ticker,
    days: rows.days.subarray(0, end),
    predicted: rows.predicted.subarray(0, end),
    realised: rows.realised.subarray(0, end),
    levels: rows.levels!.subarray(0, end),
  };
}
