import type { Intervals } from "../../contract/config/panel-settings.ts";
import type { Coverage, TestMethod } from "../../contract/output/metrics-schemas.ts";
import {
  bandFromT,
  datesQuantile,
  type FixedBProbability,
  MIN_DATES,
  meanMethod,
  testQuantile,
} from "../../contract/output/test-quantile.ts";
import type {
  FindingState,
  IntervalsFinding,
  JudgedRows,
  OrderFinding,
  SizesFinding,
} from "../../contract/output/verdict.ts";
import type { ForecastRows } from "../forecast-rows.ts";
import { type Bounds, hasNoEnds } from "../intervals/conformal.ts";
import { dateT, meanError } from "../mean-test.ts";
import { dateLayout, datesWith, valuesByDate } from "../rows-by-date.ts";
import { finiteOrNull, mean } from "../statistics.ts";
import { isNewModel, type OrderByDate, orderByDate, signedReturnT } from "./order.ts";
import { type Baseline, type SizeTest, type SizeTests, sizeTests } from "./sizes.ts";

/** One-sided: chance alone shows an order once in twenty times, and sizes once in forty, so either of them in at most 7.5 %. */
const ORDER_PROBABILITY = 0.95;
const SIZES_PROBABILITY = 0.975;
const COVERAGE_PROBABILITY = 0.975;

/** The number of misses may differ from the requested number by this share, however significant the difference is. */
const COVERAGE_SLACK = 0.1;

/** Whether forecasts rank the returns of a date better than chance, and whether the part that they add to the training mean does too. */
export function orderFinding(rows: readonly ForecastRows[], datesGiven: number): OrderFinding {
  const own = orderByDate(rows);
  const { form } = own;
  // Over time, the training mean is constant for each model and has no order.
  const hasMeans = form === "cross_section" && !rows.some(lacksMean);
  const ofMean = hasMeans ? orderByDate(rows, "training_mean") : undefined;
  const added = hasMeans ? orderByDate(rows, "beyond_mean") : undefined;
  const dates = own.days.length;
  const method: TestMethod = form === "cross_section" ? meanMethod(dates) : "student";
  const t = form === "cross_section" ? dateT(own.values, 1) : signedReturnT(own.values);
  const quantile = datesQuantile(method, dates, ORDER_PROBABILITY);
  const addedT = added === undefined ? null : dateT(added.values, 1);
  const found = {
    figure: finiteOrNull(mean(own.values)),
    mean_figure: ofMean === undefined ? null : finiteOrNull(mean(ofMean.values)),
    ...(form === "cross_section"
      ? {
          added_figure: added === undefined ? null : finiteOrNull(mean(added.values)),
          added_t: finite(addedT),
        }
      : {}),
    form,
    dates,
    t: finite(t),
    quantile,
    method,
  };
  const addsOrder = added === undefined || isBeyondChance(added, addedT);
  const state = ((): FindingState => {
    if (datesGiven < MIN_DATES || (form === "time_series" && quantile === null)) return "too_few";
    // Forecasts that are all the same have no order, however many dates there are.
    if (t === null) return "none";
    if (quantile === null) return "too_few";
    if (t <= -quantile) return "worse";
    return t >= quantile && addsOrder ? "evidence" : "none";
  })();
  const isAlone = rows.every(({ trainingMean }) => trainingMean.every((_, i) => isNewModel(trainingMean, i)));
  return { state, ...found, sentence: orderSentence(state, found, { t, addedT, datesGiven, isAlone }) };
}

function isBeyondChance({ days }: OrderByDate, t: number | null): boolean {
  const quantile = quantileOf(days.length, ORDER_PROBABILITY);
  return quantile !== null && t !== null && t >= quantile;
}

export const ORDER_FIGURES = {
  cross_section: { name: "mean IC", unit: "" },
  time_series: { name: "mean return on the side of the forecast", unit: " deviations" },
} as const satisfies Record<OrderByDate["form"], object>;

function orderSentence(
  state: FindingState,
  found: Omit<OrderFinding, "state" | "sentence">,
  {
    t,
    addedT,
    datesGiven,
    isAlone,
  }: { t: number | null; addedT: number | null; datesGiven: number; isAlone: boolean },
): string {
  const { figure, added_figure, form, dates, quantile } = found;
  const title = form === "cross_section" ? "Order" : "Order over time";
  if (state === "too_few" && datesGiven < MIN_DATES) return tooFew("Order", datesGiven);
  if (state === "too_few") {
    return tooFew(title, dates, isAlone ? ", since each model forecasts a single row" : "");
  }
  if (figure === null || t === null || quantile === null) {
    const of = form === "cross_section" ? "of a date do not differ" : "of a ticker never differ";
    return `${title}: none, since the forecasts ${of}.`;
  }
  const numbers = `${orderText(found)} over ${datesText(dates)}`;
  if (state === "evidence") return `${title}: evidence of skill (${numbers}).`;
  if (state === "worse") return `${title}: worse than chance (${numbers}).`;
  if (t < quantile) return `${title}: no evidence of skill (${numbers}).`;
  const rest =
    added_figure == null || addedT === null
      ? "nothing"
      : `mean IC ${added_figure.toFixed(3)}${bandText(added_figure, addedT, quantile, ORDER_BAND, icText)}`;
  return `${title}: no evidence beyond the training mean (${numbers}; what the forecasts add to the mean: ${rest}).`;
}

/** The figure of an order with the band outside which it is evidence. */
export function orderText({ figure, t, quantile, form }: Omit<OrderFinding, "state" | "sentence">): string {
  const { name, unit } = ORDER_FIGURES[form];
  return `${name} ${icText(figure!)}${unit}${bandText(figure!, t, quantile, ORDER_BAND, icText)}`;
}

/** A one-sided test at 5 % finds a mean whose band of 90 % excludes 0. */
const ORDER_BAND = "90%";
const SIZES_BAND = "95%";

/** The figure plus and minus the quantile times its error. @param t the figure divided by its error. */
function bandText(
  figure: number,
  t: number | null,
  quantile: number | null,
  share: string,
  text: (value: number) => string,
): string {
  const band = bandFromT(figure, t, quantile);
  return band === null ? "" : `, ${share} band ${text(band.low)} to ${text(band.high)}`;
}

/** The error of a figure, from its t; null without one. */
function errorOf(figure: number | null, t: number | null): number | null {
  return figure === null || t === null || t === 0 || !Number.isFinite(t) ? null : Math.abs(figure / t);
}

/**
 * Whether the orders of two sets of rows differ by more than chance: their difference against the root of the sum of their squared errors.
 */
export function isDifferent(...orders: readonly [OrderFinding, OrderFinding]): boolean {
  const [a, b] = orders;
  const errors = orders.map(({ figure, t }) => errorOf(figure, t));
  if (a.figure === null || b.figure === null || errors.includes(null)) return false;
  const needed = Math.max(...orders.map(({ method, dates }) => testQuantile(method, dates, 0.975)));
  return Math.abs(a.figure - b.figure) > needed * Math.hypot(...(errors as number[]));
}

/** Whether the forecasts are better sizes of returns than zero and the training mean, and whether the model knows more than these. */
export function sizesFinding(
  rows: readonly ForecastRows[],
  judged: JudgedRows = "out_of_fold",
): SizesFinding {
  const tests = sizeTests(rows);
  const { dates } = tests;
  const best = bestBaseline(tests);
  const quantile = quantileOf(dates, SIZES_PROBABILITY);
  const { zero, mean: ofMean } = tests;
  const isAbove = (t: number | null) => quantile !== null && t !== null && t >= quantile;
  const informative = [zero, ofMean].every(({ clarkWest }) => isAbove(clarkWest));
  const state = ((): FindingState => {
    if (quantile === null) return "too_few";
    if (zero.squaredError !== null && zero.squaredError <= -quantile) return "worse";
    return informative && [zero, ofMean].every(({ squaredError }) => isAbove(squaredError))
      ? "evidence"
      : "none";
  })();
  const test = (name: Baseline) => ({
    r2: tests[name].r2,
    clark_west_t: finite(tests[name].clarkWest),
    squared_error_t: finite(tests[name].squaredError),
  });
  return {
    state,
    figure: tests[best].r2,
    informative,
    best_baseline: best,
    dates,
    t: finite(tests[best].clarkWest),
    quantile,
    method: meanMethod(dates),
    against: { zero: test("zero"), mean: test("mean") },
    sentence: sizesSentence(state, tests, {
      ...{ quantile, informative },
      hasMeans: !rows.some(lacksMean),
      forecasts: testedForecasts(rows, judged),
    }),
  };
}

function gainText(r2: number | null, t: number | null, quantile: number | null, baseline: string): string {
  if (r2 === null) return `no R² against ${baseline}`;
  return `R² ${percentText(r2)} against ${baseline}${bandText(r2, t, quantile, SIZES_BAND, percentText)}`;
}

function lacksMean({ trainingMean }: ForecastRows): boolean {
  return trainingMean.some(Number.isNaN);
}

/** The baseline with the smaller squared error; zero if there is no mean. */
function bestBaseline({ zero, mean: ofMean }: SizeTests): Baseline {
  // 1 - SSE / baseline's SSE: the smaller it is, the better the baseline.
  return ofMean.r2 !== null && zero.r2 !== null && ofMean.r2 < zero.r2 ? "mean" : "zero";
}

/** What Clark and West's test judges, in words: held-out rows have no shrinkage, and score rows have the model's forecasts beside if it is pooled. */
function testedForecasts(rows: readonly ForecastRows[], judged: JudgedRows): string {
  if (rows.some(({ ranked }) => ranked !== undefined)) return "Before shrinkage, the model's forecasts";
  return judged === "score" ? "The published forecasts" : "The model's forecasts";
}

function sizesSentence(
  state: FindingState,
  { dates, zero, mean: ofMean }: SizeTests,
  {
    quantile,
    informative,
    hasMeans,
    forecasts,
  }: { quantile: number | null; informative: boolean; hasMeans: boolean; forecasts: string },
): string {
  if (state === "too_few" || quantile === null) return tooFew("Sizes", dates);
  const gains = [
    gainText(zero.r2, zero.squaredError, quantile, "zero"),
    ...(hasMeans ? [gainText(ofMean.r2, ofMean.squaredError, quantile, "the training mean")] : []),
  ].join("; ");
  const numbers = `${gains}; equal weight for each ticker, ${datesText(dates)}`;
  const finding = {
    evidence: "evidence of skill",
    worse: "worse than zero",
    none: "no evidence of skill",
  }[state];
  const isAgainst = ({ clarkWest }: SizeTest) => clarkWest !== null && clarkWest <= -quantile;
  const known = informative
    ? "show information about sizes"
    : isAgainst(zero)
      ? "go against the returns"
      : isAgainst(ofMean)
        ? "go against the returns beyond the training mean"
        : "show no evidence of information about sizes";
  const tests = clarkWestText({ zero, mean: ofMean }, quantile, hasMeans);
  return `Sizes: ${finding} (${numbers}). ${forecasts} ${known} (${tests}).`;
}

/** Each baseline as a test and as a sentence names it. */
const BASELINE_NAMES = {
  zero: ["zero", "a forecast of zero"],
  mean: ["the training mean", "the training mean"],
} as const satisfies Record<Baseline, readonly [string, string]>;

/** The t against each baseline, or why there is none: all its terms are 0 then. A t that rounds to the quantile gets another decimal. */
function clarkWestText(tests: Pick<SizeTests, Baseline>, quantile: number, hasMeans: boolean): string {
  const baselines = ["zero", "mean"] as const;
  const needed = quantile.toFixed(2);
  const isClose = baselines.some((name) => Math.abs(tests[name].clarkWest ?? 0).toFixed(2) === needed);
  const tText = (t: number) =>
    Number.isFinite(t) ? t.toFixed(isClose ? 3 : 2) : t > 0 ? "+infinity" : "-infinity";
  const tested = baselines.flatMap((name) => {
    const { clarkWest } = tests[name];
    return clarkWest === null ? [] : [`${tText(clarkWest)} against ${BASELINE_NAMES[name][0]}`];
  });
  const equal = baselines.filter((name) => tests[name].clarkWest === null && (name === "zero" || hasMeans));
  return [
    ...(tested.length === 0 ? [] : [`Clark-West t ${tested.join(" and ")}, ${tText(quantile)} needed`]),
    ...(equal.length === 0
      ? []
      : [`they add nothing to ${equal.map((name) => BASELINE_NAMES[name][1]).join(" or ")}`]),
    ...(hasMeans ? [] : ["the training mean is not known"]),
  ].join("; ");
}

/** The number of labels of a date with an interval, and how many lie inside: shape (dates) each, in time order. */
interface CoverageByDate {
  readonly inside: Float64Array;
  /** Above 0 each. */
  readonly counted: Float64Array;
}

export interface IntervalEvidence {
  readonly byDate: CoverageByDate;
  /** Coverage by tenths of each ticker's days by volatility, quietest first; absent if it is not known. */
  readonly byVolatility?: readonly Coverage[] | undefined;
}

/**
 * Whether intervals cover as many labels as requested, and what they cover on quiet and on wild days. The feedback of `adaptive` achieves
 * the former by construction, so its sentence points to the latter.
 */
export function intervalsFinding(
  { byDate: { inside, counted }, byVolatility = [] }: IntervalEvidence,
  { alpha, method }: Pick<Intervals, "alpha" | "method">,
): IntervalsFinding {
  const [quiet, wild] = [byVolatility[0]?.coverage ?? null, byVolatility.at(-1)?.coverage ?? null];
  const dates = counted.length;
  const asked = 1 - alpha;
  const figure = finiteOrNull(mean(inside) / mean(counted));
  const quantile = quantileOf(dates, COVERAGE_PROBABILITY);
  // A ratio of totals, linearised (Cochran, "Sampling Techniques", 1977, 6.4).
  const error = figure === null ? null : meanError(inside.map((hits, i) => hits - figure * counted[i]!));
  const t =
    figure === null || error === null ? null : finiteOrNull(((figure - asked) * mean(counted)) / error);
  const state = ((): FindingState => {
    if (quantile === null || figure === null) return "too_few";
    const isFar =
      Math.abs(figure - asked) > COVERAGE_SLACK * alpha && (t === null || Math.abs(t) >= quantile);
    if (!isFar) return "evidence";
    return figure < asked ? "worse" : "none";
  })();
  return {
    state,
    figure,
    asked,
    dates,
    t,
    quantile,
    method: meanMethod(dates),
    ...(quiet === null || wild === null ? {} : { quiet, wild }),
    sentence: intervalsSentence(state, { figure, asked, dates, quiet, wild }, method),
  };
}

function intervalsSentence(
  state: FindingState,
  { figure, asked, dates, quiet, wild }: IntervalFigures,
  method: Intervals["method"],
): string {
  if (state === "too_few" || figure === null) return tooFew("Intervals", dates);
  const numbers = `${share(figure)} of returns over ${datesText(dates)}, nominal ${share(asked)}`;
  const tenths =
    quiet === null || wild === null
      ? ""
      : `; ${share(quiet)} on the quietest tenth of days, ${share(wild)} on the most volatile`;
  const feedback =
    method === "adaptive"
      ? " Adaptive intervals reach the overall share by construction, in the long run."
      : "";
  if (state === "evidence")
    return `Intervals: hold the nominal coverage overall (${numbers}${tenths}).${feedback}`;
  return `Intervals: too ${state === "worse" ? "narrow" : "wide"} (${numbers}${tenths}).`;
}

interface IntervalFigures extends Pick<IntervalsFinding, "figure" | "asked" | "dates"> {
  readonly quiet: number | null;
  readonly wild: number | null;
}

function quantileOf(dates: number, probability: FixedBProbability): number | null {
  return datesQuantile(meanMethod(dates), dates, probability);
}

function tooFew(what: string, dates: number, why = ""): string {
  return `${what}: too few dates (${dates}, ${MIN_DATES} needed)${why}.`;
}

function finite(t: number | null): number | null {
  return t === null ? null : finiteOrNull(t);
}

export function datesText(dates: number): string {
  return dates === 1 ? "1 date" : `${dates.toLocaleString("en-US")} dates`;
}

function icText(value: number): string {
  return unsignedZero(value.toFixed(3));
}

function unsignedZero(text: string): string {
  return Number(text) === 0 ? text.replace("-", "") : text;
}

function percentText(value: number): string {
  return `${unsignedZero((100 * value).toFixed(2))}%`;
}

function share(value: number): string {
  return `${(100 * value).toFixed(1)}%`;
}

/** Rows of one ticker with their intervals: shape (n) each, dates ascending. */
interface BoundedRows extends Bounds {
  readonly days: Int32Array;
  /** NaN if there is no label. */
  readonly realised: Float64Array;
}

/** How many labels lie inside their intervals, ends included, by date, over the rows that have a label and an end. */
export function coverageByDate(rows: readonly BoundedRows[]): CoverageByDate {
  const counted: { readonly days: Int32Array; readonly hits: Float64Array }[] = [];
  for (const row of rows) {
    const places: number[] = [];
    for (let i = 0; i < row.days.length; i++) {
      if (!Number.isNaN(row.realised[i]!) && !hasNoEnds(row, i)) places.push(i);
    }
    counted.push({
      days: Int32Array.from(places, (i) => row.days[i]!),
      // A side without an end is NaN, and no label is beyond it.
      hits: Float64Array.from(places, (i) =>
        row.realised[i]! < row.lower[i]! || row.realised[i]! > row.upper[i]! ? 0 : 1,
      ),
    });
  }
  const layout = dateLayout(counted);
  const hits = valuesByDate(
    layout,
    counted.map((row) => row.hits),
  );
  const [inside, total]: [number[], number[]] = [[], []];
  for (const { from, to } of datesWith(layout)) {
    inside.push(hits.subarray(from, to).reduce((sum, hit) => sum + hit, 0));
    total.push(to - from);
  }
  return { inside: Float64Array.from(inside), counted: Float64Array.from(total) };
}
