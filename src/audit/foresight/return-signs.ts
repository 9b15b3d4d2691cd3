/** The correlations of a feature of one ticker, and of its gaps, with returns that nothing known on its dates can predict. */
import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { averageRanks } from "../../evaluate/rank.ts";
import { type Feature, pick, type TickerHistory } from "./feature-history.ts";
import type { Measured, Suspicion } from "./foresight-findings.ts";
import { partialCorrelation } from "./last-returns.ts";
import {
  deviationsFromZero,
  finiteRanks,
  MIN_PAIRS,
  type RankCorrelation,
  rankCorrelation,
} from "./rank-correlation.ts";

/** |c| of a feature or its change with the next return; daily information coefficients of funds are below 0.1. */
export const RETURN_LIMIT = 0.2;

/** |c| of a change with the size of the next return: volatility clusters, so honest features reach more here. */
const SIZE_LIMIT = 0.25;

/** Changes of windows centred on their date reach 0.65 at half the width, honest changes 0.10 at most. */
export const LATER_LIMIT = 0.2;

/** |c| of a value with the next return that no forecast reaches. */
const CERTAIN = 0.9;

/** A change that exceeds its own level by this factor contains what the last row did not. */
export const CHANGE_OVER_LEVEL = 1.2;

/** A partial correlation that is within RETURN_LIMIT and below this share of the whole one shows only a reversal. */
const REVERSAL = 0.9;

/** With the next return, and if that is beyond RETURN_LIMIT, given the last returns. */
export type ReturnCorrelation = RankCorrelation & { readonly partial?: number };

export type ReturnCorrelations = Omit<ReturnType<typeof returnCorrelations>, "tests">;

/** The value itself is never compared with the size of the return: an honest volatility correlates with it. */
export function returnCorrelations(history: TickerHistory, { x, dx }: Feature) {
  const labels = pick(history.labels, history.priceRows);
  const withReturn = (side: Float64Array): ReturnCorrelation | undefined => {
    const found = rankCorrelation(side, labels);
    if (found === undefined || Math.abs(found.c) <= RETURN_LIMIT) return found;
    const partial = partialCorrelation(side, history);
    return partial === undefined ? found : { ...found, partial };
  };
  const near = {
    /** Of the value with the label, which is the next return if there is no delay, here and below. */
    level: withReturn(x),
    /** Of its change since the previous row with the next return. */
    change: withReturn(dx),
    /** Of its change with the size of the next return. */
    size: rankCorrelation(dx, labels.map(Math.abs)),
  };
  const { strongest: later, tests } = strongestLater(dx, history.y, history);
  const sizes = strongestLater(dx, history.y.map(Math.abs), history);
  return {
    ...near,
    later: later && { ...later, signs: windowSigns(x, dx, later.lag, history) },
    laterSize: sizes.strongest,
    /** The number of correlations, strong or not. */
    tests: Object.values(near).filter((one) => one !== undefined).length + tests + sizes.tests,
  };
}

/** A quarter of a year. The return 1 price date later, or `delay` dates after that, is the label itself. */
export const MAX_LAG = 63;

/** Correlations of ranks over all rows differ by less than this from those of ranks over the pairs alone. */
const SCREEN = 0.12;

/**
 * The correlation of a feature's change with the return `lag` price dates later, lag = 2 + delay ... MAX_LAG. Ranks over all rows quickly
 * find the lags near LATER_LIMIT; these are ranked again over their own pairs.
 * @param dx shape (r). @param y shape (m): returns or their sizes, each from its date to the next.
 * @returns the lag with the most deviations among those with |c| > LATER_LIMIT, and the number of lags.
 */
function strongestLater(dx: Float64Array, y: Float64Array, { priceRows, delay }: TickerHistory) {
  const ranks = { dx: finiteRanks(dx), y: finiteRanks(y) };
  let strongest: (RankCorrelation & { readonly lag: number }) | undefined;
  let tests = 0;
  for (let lag = 2 + delay; lag <= MAX_LAG; lag++) {
    const screened = correlationAt(lag, ranks.dx, ranks.y, priceRows);
    if (screened.n < MIN_PAIRS || screened.c === null) continue;
    tests++;
    if (Math.abs(screened.c) <= SCREEN) continue;
    const found = rankCorrelation(
      dx,
      Float64Array.from(priceRows, (row) => y[row + lag - 1] ?? Number.NaN),
    );
    if (found === undefined || Math.abs(found.c) <= LATER_LIMIT) continue;
    if (strongest === undefined || deviationsFromZero(found) > deviationsFromZero(strongest))
      strongest = { ...found, lag };
  }
  return { strongest, tests };
}

/** Pearson's correlation of ranks `lag` price dates apart, in one pass: sums of ranks are exact. */
function correlationAt(lag: number, a: Float64Array, b: Float64Array, priceRows: Int32Array) {
  let n = 0;
  let [sa, sb, saa, sbb, sab] = [0, 0, 0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const at = priceRows[i]! + lag - 1;
    if (at >= b.length) break;
    const u = a[i]!;
    const v = b[at]!;
    if (!(u * v > 0)) continue;
    n++;
    sa += u;
    sb += v;
    saa += u * u;
    sbb += v * v;
    sab += u * v;
  }
  const spread = (n * saa - sa * sa) * (n * sbb - sb * sb);
  return { n, c: spread > 0 ? (n * sab - sa * sb) / Math.sqrt(spread) : null };
}

/** A change has two ends, the dates of two values: a property of one value shows at two successive lags. */
const OTHER_DATES = 2;

/**
 * What distinguishes a window that reaches past its date from a feature that returns honestly follow after some dates: a window that
 * moves by a date gains a return at one end and loses one at the other, so its change correlates with returns at two places. Lag 0 is the
 * return into the date, and lag -k that into the k-th date before.
 * @returns the correlation of the value with the return at the same lag, null if it does not exist, and the strongest one of the change
 *   with a return at least OTHER_DATES dates away from that lag, before or after.
 */
function windowSigns(x: Float64Array, dx: Float64Array, lag: number, { y, priceRows }: TickerHistory) {
  const ranks = { dx: finiteRanks(dx), y: finiteRanks(y) };
  let other = { c: 0, lag: 0 };
  for (let at = -MAX_LAG; at <= MAX_LAG; at++) {
    if (Math.abs(at - lag) < OTHER_DATES) continue;
    const { n, c } = correlationAt(at, ranks.dx, ranks.y, priceRows);
    if (n >= MIN_PAIRS && c !== null && Math.abs(c) > Math.abs(other.c)) other = { c, lag: at };
  }
  return { value: correlationAt(lag, finiteRanks(x), ranks.y, priceRows).c, other };
}

type Beyond = Pick<Suspicion, "isHonestLag"> & {
  readonly code: "knows_next_price" | "implausible_skill" | "knows_later_return";
  readonly shown: RankCorrelation;
};

/**
 * The most severe suspicion about one feature of one ticker, at most one, and the correlation that shows it most clearly.
 * @param needed deviations that a correlation must exceed; it grows with the number of tests.
 */
export function judgeReturns(
  { level, change, size, later, laterSize }: ReturnCorrelations,
  needed: number,
): Beyond | undefined {
  const isFound = (one: RankCorrelation | undefined, limit: number) =>
    one !== undefined && Math.abs(one.c) > limit && deviationsFromZero(one) > needed;
  const found = [level, change].filter((one): one is ReturnCorrelation => {
    if (one === undefined || !isFound(one, RETURN_LIMIT)) return false;
    // The ticker's own last returns must not explain it.
    const partial = Math.abs(one.partial ?? one.c);
    return partial > RETURN_LIMIT || partial >= REVERSAL * Math.abs(one.c);
  });
  const isSize = isFound(size, SIZE_LIMIT);
  const isCertain = found.some((one) => one === level && Math.abs(one.c) > CERTAIN);
  const isFresh = found.some((one) => one === change && isBeyond(one, level));
  if (isCertain || isFresh || isSize)
    return { code: "knows_next_price", shown: strongest(isSize ? [...found, size!] : found) };
  const isLater = isFound(later, LATER_LIMIT);
  // Volatility clusters, so an honest change correlates with sizes of later returns, but with none as much as with the next one.
  const isLaterSize = isFound(laterSize, SIZE_LIMIT) && isBeyond(laterSize!, size);
  if (isLater && (isWindow(later!) || !isLaterSize))
    return { code: "knows_later_return", shown: later!, isHonestLag: !isWindow(later!) };
  if (isLaterSize) return { code: "knows_later_return", shown: laterSize! };
  return found.length === 0 ? undefined : { code: "implausible_skill", shown: strongest(found) };
}

function isBeyond(one: RankCorrelation, other: RankCorrelation | undefined): boolean {
  return Math.abs(one.c) > CHANGE_OVER_LEVEL * Math.abs(other?.c ?? 0);
}

/**
 * Whether a change that correlates with a later return comes from a window, or from a copy of the return itself. If returns honestly
 * follow a feature after some dates, its value correlates with the later return at least as much, and there is no correlation
 * elsewhere.
 */
function isWindow({ c, signs: { value, other } }: NonNullable<ReturnCorrelations["later"]>): boolean {
  const level = Math.abs(value ?? 0);
  const isElsewhere = Math.abs(other.c) > Math.max(LATER_LIMIT, Math.abs(c) / 2);
  return level > CERTAIN || (Math.abs(c) > CHANGE_OVER_LEVEL * level && isElsewhere);
}

function strongest(found: readonly RankCorrelation[]): RankCorrelation {
  return found.reduce((a, b) => (deviationsFromZero(b) > deviationsFromZero(a) ? b : a));
}

/** A feature of one ticker compared with the next return and later ones. */
export function measureReturns(history: TickerHistory, feature: Feature): Measured {
  const { tests, ...correlations } = returnCorrelations(history, feature);
  const { level, change, size, later, laterSize } = correlations;
  const judge = (needed: number): Suspicion | undefined => {
    const beyond = judgeReturns(correlations, needed);
    if (beyond === undefined) return undefined;
    const figures = {
      level: figuresOf(level),
      change: figuresOf(change),
      size: figuresOf(size),
      later: figuresOf(later),
      later_size: figuresOf(laterSize),
    };
    return { ...beyond, text: textOf(beyond, correlations), figures };
  };
  return { tests, judge };
}

/** A correlation with its number of deviations from 0. */
function figuresOf(one: (RankCorrelation & AuditFacts) | undefined): AuditFacts | null {
  return one === undefined ? null : { ...one, deviations: deviationsFromZero(one) };
}

function textOf(
  { code, shown, isHonestLag }: Beyond,
  { level, change, size, later, laterSize }: ReturnCorrelations,
): string {
  const c = shown.c.toFixed(2);
  if (code === "knows_later_return" && shown === laterSize)
    return `knows the size of a later return: its change has a correlation of ${c} with the size of the return ${laterSize.lag} price dates later, as in a centred volatility`;
  if (code === "knows_later_return") {
    const sentence = `its change has a correlation of ${c} with the return ${later!.lag} price dates later`;
    if (!isHonestLag) return `knows a later return: ${sentence}`;
    return `correlates with a later return more than known forecasts do: ${sentence}, but nothing else indicates a window that extends past its date`;
  }
  const parts = [
    [level, "its correlation with the next return"],
    [change, "the correlation of its change with the next return"],
    [size, "the correlation of its change with the size of the next return"],
  ] as const;
  const text = parts.flatMap(([one, name]) => (one === undefined ? [] : [`${name} is ${one.c.toFixed(2)}`]));
  const what =
    code === "knows_next_price"
      ? "knows the next price"
      : "correlates with the next return more than known forecasts do";
  return `${what}: ${text.join(", ")}`;
}

/** |P(higher) - P(lower)| of returns after a missing value. */
const MISSING_LIMIT = 0.2;

const MIN_MISSING = 5;

/**
 * How the absence of a feature relates to the label: Spearman's correlation of "the feature is missing here" with it, over the price
 * dates from the feature's first value to its last, because rows before a window is full do not count.
 * @returns `effect`, P(a return after a missing value is higher) - P(it is lower), for a missing and a present value drawn at random: the
 *   rank-biserial correlation, which unlike c does not shrink with the share of missing values. Undefined for fewer than MIN_MISSING
 *   missing or present values.
 */
export function missingCorrelation({ labels, priceRows }: TickerHistory, { x }: Feature) {
  const present = new Set(priceRows.filter((_, i) => Number.isFinite(x[i]!)));
  const first = priceRows[x.findIndex(Number.isFinite)] ?? 0;
  const last = priceRows[x.findLastIndex(Number.isFinite)] ?? -1;
  const rows = [...labels.keys()].slice(first, last + 1).filter((row) => Number.isFinite(labels[row]!));
  const marks = Float64Array.from(rows, (row) => (present.has(row) ? 0 : 1));
  const missing = marks.reduce((sum, mark) => sum + mark, 0);
  if (missing < MIN_MISSING || rows.length - missing < MIN_MISSING) return undefined;
  const after = Float64Array.from(rows, (row) => labels[row]!);
  const found = rankCorrelation(marks, after);
  if (found === undefined) return undefined;
  const rankSum = averageRanks(after).reduce((sum, rank, i) => sum + rank * marks[i]!, 0);
  const effect = (2 * (rankSum / missing - (missing + 1) / 2)) / (found.n - missing) - 1;
  return { ...found, effect, missing };
}

/** The gaps of a feature of one ticker compared with the next return; undefined if there are too few. */
export function measureGaps(history: TickerHistory, feature: Feature): Measured | undefined {
  const found = missingCorrelation(history, feature);
  if (found === undefined) return undefined;
  const { effect, missing } = found;
  const suspicion: Suspicion = {
    code: "missing_predicts_label",
    shown: found,
    text: `is missing on ${counted(missing, "date")} whose next returns differ from the others: P(higher) - P(lower) is ${effect.toFixed(2)}`,
    figures: { ...found, deviations: deviationsFromZero(found) },
  };
  const judge = (needed: number) =>
    Math.abs(effect) > MISSING_LIMIT && deviationsFromZero(found) > needed ? suspicion : undefined;
  return { tests: 1, judge };
}
