import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { type Fold, type FoldSettings, foldCount } from "./folds.ts";
import { MAX_LABEL_DAYS, NO_LABEL_DAY } from "./labels.ts";
import { learnedDays, ONE_BLOCK, type RefitBlock, tickerBlocks } from "./refit-blocks.ts";
import { countBefore, orderByDates } from "./rows.ts";
import { MIN_FIT_ROWS, type PanelRows } from "./ticker-panel.ts";

type PooledRows = Pick<
  PanelRows,
  "ticker" | "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins"
>;

/** The rows of a matrix that a fit learns from: [trainStart, trainEnd). Without a window it starts at 0. */
interface TrainingRows {
  readonly trainStart: number;
  readonly trainEnd: number;
}

/** A fold of a pooled fit. It predicts matrix rows [trainEnd, testEnd), which contain its test rows: those dated in [from, until). */
interface PooledFold extends TrainingRows {
  /** Its first test date: every label of its training rows is known at that close. */
  readonly from: Day;
  /** The first test date of the next fold; undefined for the last. */
  readonly until: Day | undefined;
  /** Labels of test rows are known by then; undefined if all are. */
  readonly knownBy: Day | undefined;
  readonly testEnd: number;
}

interface ScoredRows {
  readonly scoreStart: number;
  readonly scoreEnd: number;
}

/** The fit of one block, which predicts matrix rows [scoreStart, scoreEnd). */
type PooledBlock = RefitBlock & TrainingRows & ScoredRows;

export interface PooledMember<P extends PooledRows = PooledRows> {
  readonly panel: P;
  /** Shape (learn), ascending rows of the panel: the fit rows, then those that a later block learns from. */
  readonly learn: Int32Array;
  /** Shape (learn + score), ascending: the matrix row of each row of `learn`, then of each score row. */
  readonly places: Float64Array;
  /** One entry per block: positions in `learn`, and in the score rows. */
  readonly blocks: readonly (TrainingRows & ScoredRows)[];
  /** The folds that test rows of the ticker, as positions in its fit rows, with the number of each among all folds. */
  readonly folds: readonly (Fold & { readonly fold: number })[];
}

/** One regressor for all tickers. Matrix rows are those that some fit learns from, by label date, then the score rows by date. */
export interface PooledPlan<P extends PooledRows = PooledRows> {
  readonly fitRows: number;
  /** The fit rows, followed by those that a later block learns from. */
  readonly learnRows: number;
  readonly scoreRows: number;
  readonly folds: readonly PooledFold[];
  readonly blocks: readonly PooledBlock[];
  /** Ascending by code point. */
  readonly members: readonly PooledMember<P>[];
}

/**
 * Plans a pooled fit. With n distinct dates of fit rows, folds test the last k * cv_test_size of them in k blocks, k = `foldCount`.
 *
 * Timing: a fold, or a refit block, trains on the rows whose label is known at the close of its first date: a prefix of the matrix, or with a
 * window its last `window` label dates. A fold tests the rows dated in it whose label is known `delay` dates after the next fold's first date;
 * one that is known later, after a gap in prices, has no out-of-fold forecast. A ticker with fewer than MIN_FIT_ROWS training rows in a fold
 * is not tested by it. No fold tests a late ticker: it is learned from the block on that it joins, and its rows known by then are placed at
 * the start of the labels of that date.
 * @param panels in any order; the plan is the same.
 * @param jobBlocks of `refitBlocks`, ascending.
 */
export function planPooled<P extends PooledRows>(
  panels: readonly P[],
  settings: FoldSettings,
  jobBlocks: readonly RefitBlock[] = ONE_BLOCK,
): PooledPlan<P> {
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const tickers = ascending.map((panel) => {
    const { learn, blocks } = tickerBlocks(panel, jobBlocks);
    const [knownDays, scoreDays] = [learnedDays(panel, learn), panel.score.map((row) => panel.days[row]!)];
    return { panel, learn, blocks, knownDays, scoreDays };
  });
  const learn = placeRows(
    tickers.map(({ panel: { days, joins }, learn, knownDays }) => {
      const isEarly = (row: number) => joins !== undefined && days[row]! < joins;
      return [
        knownDays,
        learn.map((row, i) => (isEarly(row) ? knownDays[i]! - 1 : days[row]! + MAX_LABEL_DAYS)),
      ];
    }),
  );
  const score = placeRows(tickers.map(({ scoreDays }) => [scoreDays, scoreDays]));
  const prompt = ascending.filter(({ joins }) => joins === undefined);
  const fitRows = prompt.reduce((sum, { fit }) => sum + fit.length, 0);
  const learnRows = learn.days.length;
  const trainingRows = windowRows(learn.days, settings.window);
  const firstKnown = ({ trainStart }: TrainingRows) =>
    trainStart === 0 ? NO_LABEL_DAY : learn.days[trainStart]!;

  // Labels of fit rows are known by the cut and those of score rows after it; late tickers join after it.
  const fitLabelDays = learn.days.subarray(0, fitRows);
  const fitDates = new Set(prompt.flatMap(({ fit, days }) => Array.from(fit, (row) => days[row]!)));
  const folds = testDates(Int32Array.from(fitDates).sort(), settings).map(
    (fold): PooledFold => ({
      ...fold,
      ...trainingRows(countBefore(fitLabelDays, fold.from + 1)),
      testEnd: fold.knownBy === undefined ? fitRows : countBefore(fitLabelDays, fold.knownBy + 1),
    }),
  );
  const starts = jobBlocks.map(({ from }, b) => learnRows + (b === 0 ? 0 : countBefore(score.days, from)));
  const blocks = jobBlocks.map(
    (block, b): PooledBlock => ({
      ...block,
      ...trainingRows(block.known === undefined ? fitRows : countBefore(learn.days, block.known + 1)),
      scoreStart: starts[b]!,
      scoreEnd: starts[b + 1] ?? learnRows + score.days.length,
    }),
  );
  return {
    ...{ fitRows, learnRows, scoreRows: score.days.length, folds, blocks },
    members: tickers.map(({ panel, learn: own, knownDays, blocks: ofTicker }, i) => ({
      ...{ panel, learn: own },
      places: Float64Array.from([...learn.places[i]!, ...score.places[i]!.map((place) => learnRows + place)]),
      blocks: ofTicker.map(({ learnEnd, ...scored }, b) => {
        const trainStart = countBefore(knownDays, firstKnown(blocks[b]!));
        return { ...scored, trainStart, trainEnd: learnEnd };
      }),
      folds: panel.joins === undefined ? foldsOfTicker(panel, folds, firstKnown) : [],
    })),
  };
}

/**
 * Sorts the rows of all tickers by two dates each; the order of tickers, then of their rows, breaks ties.
 * @param dates of the rows of each ticker: the first, and the second.
 * @returns the place of each row by ticker, and the first date of the row at each place.
 */
function placeRows(dates: readonly (readonly [first: Int32Array, second: Int32Array])[]) {
  const first = Int32Array.from(dates.flatMap(([days]) => [...days]));
  const second = Int32Array.from(dates.flatMap(([, days]) => [...days]));
  const order = orderByDates(first, second);
  const places = new Int32Array(order.length);
  for (const [place, row] of order.entries()) places[row] = place;
  let end = 0;
  const byTicker = dates.map(([{ length }]) => {
    end += length;
    return places.subarray(end - length, end);
  });
  return { places: byTicker, days: order.map((row) => first[row]!) };
}

/** The training rows that end before a row: all, or those of the last `window` label dates. @param labelDays shape (n), ascending. */
function windowRows(labelDays: Int32Array, window: number | undefined): (trainEnd: number) => TrainingRows {
  const starts = labelDays.map((_, i) => i).filter((i) => i === 0 || labelDays[i] !== labelDays[i - 1]);
  return (trainEnd) => {
    if (window === undefined) return { trainStart: 0, trainEnd };
    return { trainStart: starts[Math.max(0, countBefore(starts, trainEnd) - window)] ?? 0, trainEnd };
  };
}

/** The dates that folds test. @param dates shape (n), ascending: those of the fit rows. */
function testDates(dates: Int32Array, { cv_test_size, n_splits, delay }: FoldSettings) {
  const n = dates.length;
  const k = foldCount(n, cv_test_size, n_splits, delay);
  return Array.from({ length: k }, (_, j) => {
    const first = n - (k - j) * cv_test_size;
    return {
      from: dates[first]!,
      until: dates[first + cv_test_size],
      knownBy: dates[first + cv_test_size + delay],
    };
  });
}

/** @param firstKnown the first label date of the training rows of a fold. */
function foldsOfTicker(
  { fit, days, labelDays }: PooledRows,
  folds: readonly PooledFold[],
  firstKnown: (fold: PooledFold) => Day,
): PooledMember["folds"] {
  const fitDays = fit.map((row) => days[row]!);
  const knownDays = fit.map((row) => labelDays[row]!);
  const ranges = folds.map((pooled, fold) => {
    const { from, until, knownBy } = pooled;
    return {
      fold,
      trainStart: countBefore(knownDays, firstKnown(pooled)),
      trainEnd: countBefore(knownDays, from + 1),
      testStart: countBefore(fitDays, from),
      testEnd: Math.min(
        until === undefined ? fit.length : countBefore(fitDays, until),
        knownBy === undefined ? fit.length : countBefore(knownDays, knownBy + 1),
      ),
    };
  });
  return ranges.filter(
    ({ trainStart, trainEnd, testStart, testEnd }) =>
      trainEnd - trainStart >= MIN_FIT_ROWS && testEnd > testStart,
  );
}
