import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { type Fold, foldCount } from "./folds.ts";
import { MAX_LABEL_DAYS, NO_LABEL_DAY } from "./labels.ts";
import { learnedDays, ONE_BLOCK, type RefitBlock, type TickerBlock, tickerBlocks } from "./refit-blocks.ts";
import { countBefore, orderByDates, valuesAt } from "./rows.ts";
import { MIN_FIT_ROWS, type PanelRows } from "./ticker-panel.ts";

type PooledRows = Pick<
  PanelRows,
  "ticker" | "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins"
>;

/**
 * One fold of a pooled fit, as rows of its matrix: it trains on [trainStart, trainEnd) and predicts [trainEnd, testEnd), which contains its test
 * rows: those dated from `from` to before `until`.
 */
export interface PooledFold {
  /** Its first test date: every label of its training rows is known at that close. */
  readonly from: Day;
  /** The first test date of the next fold; undefined for the last. */
  readonly until: Day | undefined;
  /** Labels of test rows are known by then; undefined if all are. */
  readonly knownBy: Day | undefined;
  /** 0 without a window. */
  readonly trainStart: number;
  readonly trainEnd: number;
  readonly testEnd: number;
}

/** The fit of one block of score rows, as rows of the matrix: it trains on [trainStart, trainEnd) and predicts [scoreStart, scoreEnd). */
export interface PooledBlock extends RefitBlock {
  readonly trainStart: number;
  readonly trainEnd: number;
  readonly scoreStart: number;
  readonly scoreEnd: number;
}

export interface PooledMember<P extends PooledRows = PooledRows> {
  readonly panel: P;
  /** Shape (learn), ascending rows of the panel: the fit rows, then those that a later block learns from. */
  readonly learn: Int32Array;
  /** Shape (learn + score), ascending: the matrix row of each row of `learn`, then of each score row. */
  readonly places: Float64Array;
  /** One entry per block: positions [trainStart, trainEnd) in `learn`, and [scoreStart, scoreEnd) in the score rows. */
  readonly blocks: readonly PooledTickerBlock[];
  /** The folds that test rows of the ticker, as positions in its fit rows, with the number of each among all folds. */
  readonly folds: readonly (Fold & { readonly fold: number })[];
}

type PooledTickerBlock = Omit<TickerBlock, "learnEnd"> & {
  readonly trainStart: number;
  readonly trainEnd: number;
};

/** One regressor for all tickers: all rows that some fit learns from, by label date, then the score rows by date. */
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
 * Plans a pooled fit. With n distinct dates of fit rows, folds test the last k · testSize of them in k blocks, k = min(nSplits, floor((n -
 * MIN_FIT_ROWS - delay) / testSize)). Timing: a fold trains on the rows whose label is known at the close of its first test date, so every
 * fold's training rows are a prefix of the matrix. It tests the rows that are dated in its block and whose label is known `delay` dates after
 * the next block's first date; a row whose label is known later, after a gap in its prices, has no out-of-fold forecast. A ticker with fewer than
 * MIN_FIT_ROWS training rows in a fold is not tested by it. A block trains on the rows whose label is known at the close of its first date.
 * With a window, both train only on the last `window` label dates of these rows. A late ticker is used for training from the block on that
 * it joins, and no fold tests it: its rows known by then are placed at the start of the labels of that date.
 * @param panels in any order; the plan is the same.
 * @param jobBlocks of `refitBlocks`, ascending.
 */
export function planPooled<P extends PooledRows>(
  panels: readonly P[],
  settings: PooledPlanSettings,
  jobBlocks: readonly RefitBlock[] = ONE_BLOCK,
): PooledPlan<P> {
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const own = ascending.map((panel) => tickerBlocks(panel, jobBlocks));
  const learn = placesOf(
    ascending,
    own.map((ticker) => ticker.learn),
    learnedDays,
  );
  const score = placesOf(
    ascending,
    ascending.map((panel) => panel.score),
    ({ days }, rows) => rows.map((row) => days[row]!),
  );
  const prompt = ascending.filter(({ joins }) => joins === undefined);
  const fitRows = prompt.reduce((sum, { fit }) => sum + fit.length, 0);
  // Labels of fit rows are known by the cut and those of score rows after it; late tickers join after it.
  const fitLabelDays = learn.days.subarray(0, fitRows);
  const startOf = windowStarts(learn.days, settings.window);
  const folds = foldsOf(prompt, fitLabelDays, settings, startOf);
  const blocks = blocksOf(jobBlocks, { fitRows, learnDays: learn.days, scoreDays: score.days }, startOf);
  const firstKnown = (trainStart: number) => (trainStart === 0 ? NO_LABEL_DAY : learn.days[trainStart]!);
  return {
    fitRows,
    learnRows: learn.rows,
    scoreRows: score.rows,
    folds,
    blocks,
    members: ascending.map((panel, i) => {
      const knownDays = learnedDays(panel, own[i]!.learn);
      return {
        panel,
        learn: own[i]!.learn,
        places: concatenated(
          learn.places[i]!,
          score.places[i]!.map((place) => learn.rows + place),
        ),
        folds: panel.joins === undefined ? foldsOfTicker(panel, folds, firstKnown) : [],
        blocks: own[i]!.blocks.map(({ learnEnd, ...scored }, b) => {
          const trainStart = countBefore(knownDays, firstKnown(blocks[b]!.trainStart));
          return { ...scored, trainStart, trainEnd: learnEnd };
        }),
      };
    }),
  };
}

interface PooledPlanSettings {
  readonly cv_test_size: number;
  readonly n_splits: number;
  readonly delay: number;
  readonly window?: number | undefined;
}

/** The start of the training rows that end before a row: 0, or the first row of the last `window` label dates. */
type StartOf = (trainEnd: number) => number;

/** @param labelDays shape (n), ascending. */
function windowStarts(labelDays: Int32Array, window: number | undefined): StartOf {
  if (window === undefined) return () => 0;
  // The first row of each label date.
  const starts: number[] = [];
  for (const [i, day] of labelDays.entries()) if (i === 0 || day !== labelDays[i - 1]) starts.push(i);
  return (trainEnd) => {
    const dates = starts.filter((start) => start < trainEnd).length;
    return starts[Math.max(0, dates - window)] ?? 0;
  };
}

/** @param rows `learnDays` label dates of the rows to learn from, `scoreDays` dates of the score rows; both ascending. */
function blocksOf(
  blocks: readonly RefitBlock[],
  rows: { readonly fitRows: number; readonly learnDays: Int32Array; readonly scoreDays: Int32Array },
  startOf: StartOf,
): PooledBlock[] {
  const { fitRows, learnDays, scoreDays } = rows;
  const first = learnDays.length;
  const starts = blocks.map(({ from }, b) => first + (b === 0 ? 0 : countBefore(scoreDays, from)));
  return blocks.map((block, b) => {
    const trainEnd = block.known === undefined ? fitRows : countBefore(learnDays, block.known + 1);
    return {
      ...block,
      trainStart: startOf(trainEnd),
      trainEnd,
      scoreStart: starts[b]!,
      scoreEnd: starts[b + 1] ?? first + scoreDays.length,
    };
  });
}

function concatenated(a: Float64Array, b: Float64Array): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/**
 * The positions of each ticker's rows, sorted by one date of each row, then by its own.
 * @param dated the first of these dates of rows of a panel, ascending.
 */
function placesOf(
  panels: readonly PooledRows[],
  rows: readonly Int32Array[],
  dated: (panel: PooledRows, rows: Int32Array) => Int32Array,
): { readonly rows: number; readonly places: Float64Array[]; readonly days: Int32Array } {
  const n = rows.reduce((sum, own) => sum + own.length, 0);
  const firstDays = new Int32Array(n);
  const secondDays = new Int32Array(n);
  let count = 0;
  for (const [p, panel] of panels.entries()) {
    for (const [i, day] of dated(panel, rows[p]!).entries()) {
      const row = rows[p]![i]!;
      firstDays[count] = day;
      secondDays[count] = secondDay(panel, row, day);
      count++;
    }
  }
  const order = orderByDates(firstDays, secondDays);
  const places = new Float64Array(order.length);
  for (const [place, i] of order.entries()) places[i] = place;
  let at = 0;
  const own = rows.map(({ length }) => {
    const from = at;
    at += length;
    return places.subarray(from, at);
  });
  return { rows: order.length, places: own, days: valuesAt(firstDays, order) };
}

/**
 * Later than every label's date, and in the order of the rows' dates. A row that a late ticker has when it joins precedes all others.
 * @param day the row's first date.
 */
function secondDay({ days, joins }: PooledRows, row: number, day: Day): Day {
  return joins !== undefined && days[row]! < joins ? day - 1 : days[row]! + MAX_LABEL_DAYS;
}

/** @param labelDays shape (fit rows), ascending. */
function foldsOf(
  panels: readonly PooledRows[],
  labelDays: Int32Array,
  { cv_test_size: testSize, n_splits, delay }: PooledPlanSettings,
  startOf: StartOf,
): PooledFold[] {
  const distinct = new Set<Day>();
  for (const { fit, days } of panels) {
    for (const row of fit) distinct.add(days[row]!);
  }
  const dates = Int32Array.from(distinct).sort();
  const n = dates.length;
  const k = foldCount(n, testSize, n_splits, delay);
  return Array.from({ length: k }, (_, j) => {
    const first = n - (k - j) * testSize;
    const from = dates[first]!;
    const trainEnd = countBefore(labelDays, from + 1);
    const until = dates[first + testSize];
    const knownBy = dates[first + testSize + delay];
    const testEnd = knownBy === undefined ? labelDays.length : countBefore(labelDays, knownBy + 1);
    return { from, until, knownBy, trainStart: startOf(trainEnd), trainEnd, testEnd };
  });
}

/** @param firstKnown the first label date of the training rows that begin there. */
function foldsOfTicker(
  { fit, days, labelDays }: PooledRows,
  folds: readonly PooledFold[],
  firstKnown: (trainStart: number) => Day,
): (Fold & { readonly fold: number })[] {
  const fitDays = fit.map((row) => days[row]!);
  const knownDays = fit.map((row) => labelDays[row]!);
  return folds.flatMap(({ from, until, knownBy, trainStart }, fold) => {
    const range = {
      trainStart: countBefore(knownDays, firstKnown(trainStart)),
      trainEnd: countBefore(knownDays, from + 1),
      testStart: countBefore(fitDays, from),
      testEnd: Math.min(
        until === undefined ? fit.length : countBefore(fitDays, until),
        knownBy === undefined ? fit.length : countBefore(knownDays, knownBy + 1),
      ),
    };
    const trained = range.trainEnd - range.trainStart;
    const isTested = trained >= MIN_FIT_ROWS && range.testEnd > range.testStart;
    return isTested ? [{ fold, ...range }] : [];
  });
}
