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
import type { coverageByDate } from "../intervals/coverage.ts";
import { dateT, meanError } from "../mean-test.ts";
import { finiteOrNull, mean } from "../statistics.ts";
import { isNewModel, orderByDate, signedReturnT } from "./order.ts";
import { type Baseline, type SizeTests, sizeTests } from "./sizes.ts";

/** One-sided: chance alone shows an order once in twenty times, and sizes once in forty, so either of them in at most 7.5 %. */
const ORDER_PROBABILITY = 0.95;
const SIZES_PROBABILITY = 0.975;
const COVERAGE_PROBABILITY = 0.975;

/** A one-sided test at 5 % finds a mean whose band of 90 % excludes 0. */
const ORDER_BAND = "90%";
const SIZES_BAND = "95%";

/** The number of misses may differ from the requested number by this share, however significant the difference is. */
const COVERAGE_SLACK = 0.1;

type Judgement = readonly [state: FindingState, sentence: string];

export const ORDER_FIGURES = {
  cross_section: { name: "mean IC", unit: "" },
  time_series: { name: "mean return on the side of the forecast", unit: " deviations" },
} as const satisfies Record<OrderFinding["form"], object>;

/** Whether forecasts rank the returns of a date better than chance, and whether the part that they add to the training mean does too. */
export function orderFinding(rows: readonly ForecastRows[], datesGiven: number): OrderFinding {
  const { form, values } = orderByDate(rows);
  const isAcross = form === "cross_section";
  // Over time, the training mean is constant for each model and has no order.
  const hasMeans = isAcross && !rows.some(lacksMean);
  const ofMean = hasMeans ? orderByDate(rows, "training_mean").values : undefined;
  const added = hasMeans ? orderByDate(rows, "beyond_mean").values : undefined;
  const dates = values.length;
  const method: TestMethod = isAcross ? meanMethod(dates) : "student";
  const t = isAcross ? dateT(values, 1) : signedReturnT(values);
  const addedT = added === undefined ? null : dateT(added, 1);
  const quantile = datesQuantile(method, dates, ORDER_PROBABILITY);
  const meanOf = (part: Float64Array | undefined) => part && finiteOrNull(mean(part));
  const added_figure = meanOf(added) ?? null;
  const found = {
    figure: finiteOrNull(mean(values)),
    mean_figure: meanOf(ofMean) ?? null,
    ...(isAcross ? { added_figure, added_t: finiteOrNull(addedT) } : {}),
    ...{ form, dates, t: finiteOrNull(t), quantile, method },
  };

  const judge = (): Judgement => {
    const title = isAcross ? "Order" : "Order over time";
    if (datesGiven < MIN_DATES) return ["too_few", tooFew("Order", datesGiven)];
    // Forecasts that are all the same have no order, however many dates there are.
    if (t === null && (isAcross || quantile !== null)) {
      const same = isAcross ? "of a date do not differ" : "of a ticker never differ";
      return ["none", `${title}: none, since the forecasts ${same}.`];
    }
    if (t === null || quantile === null) {
      const isAlone = rows.every(({ trainingMean }) =>
        trainingMean.every((_, i) => isNewModel(trainingMean, i)),
      );
      return ["too_few", tooFew(title, dates, isAlone ? ", since each model forecasts a single row" : "")];
    }
    const numbers = `${orderText(found)} over ${datesText(dates)}`;
    if (t <= -quantile) return ["worse", `${title}: worse than chance (${numbers}).`];
    if (t < quantile) return ["none", `${title}: no evidence of skill (${numbers}).`];
    if (added === undefined || exceeds(addedT, quantileOf(added.length, ORDER_PROBABILITY)))
      return ["evidence", `${title}: evidence of skill (${numbers}).`];
    const rest =
      added_figure === null || addedT === null
        ? "nothing"
        : `mean IC ${added_figure.toFixed(3)}${bandText(added_figure, addedT, quantile, ORDER_BAND, icText)}`;
    const sentence = `no evidence beyond the training mean (${numbers}; what the forecasts add to the mean: ${rest})`;
    return ["none", `${title}: ${sentence}.`];
  };
  const [state, sentence] = judge();
  return { state, ...found, sentence };
}

function lacksMean({ trainingMean }: ForecastRows): boolean {
  return trainingMean.some(Number.isNaN);
}

/** The figure of an order with the band outside which it is evidence. */
export function orderText({ figure, t, quantile, form }: Omit<OrderFinding, "state" | "sentence">): string {
  const { name, unit } = ORDER_FIGURES[form];
  return `${name} ${icText(figure!)}${unit}${bandText(figure!, t, quantile, ORDER_BAND, icText)}`;
}

/**
 * Whether the orders of two sets of rows differ by more than chance: their difference against the root of the sum of their squared errors.
 */
export function isDifferent(a: OrderFinding, b: OrderFinding): boolean {
  const errors = [a, b].map(({ figure, t }) => (figure === null || !t ? Number.NaN : Math.abs(figure / t)));
  const needed = Math.max(...[a, b].map(({ method, dates }) => testQuantile(method, dates, 0.975)));
  // False if an error is unknown.
  return Math.abs(a.figure! - b.figure!) > needed * Math.hypot(...errors);
}

/** Whether the forecasts are better sizes of returns than zero and the training mean, and whether the model knows more than these. */
export function sizesFinding(
  rows: readonly ForecastRows[],
  judged: JudgedRows = "out_of_fold",
): SizesFinding {
  const tests = sizeTests(rows);
  const { dates, zero, mean: ofMean } = tests;
  const quantile = quantileOf(dates, SIZES_PROBABILITY);
  const informative = [zero, ofMean].every(({ clarkWest }) => exceeds(clarkWest, quantile));
  // 1 - SSE / SSE of the baseline: the smaller it is, the better the baseline.
  const best = ofMean.r2 !== null && zero.r2 !== null && ofMean.r2 < zero.r2 ? "mean" : "zero";

  const judge = (): Judgement => {
    if (quantile === null) return ["too_few", tooFew("Sizes", dates)];
    const isWorse = zero.squaredError !== null && zero.squaredError <= -quantile;
    const isBetter =
      informative && [zero, ofMean].every(({ squaredError }) => exceeds(squaredError, quantile));
    const [state, finding] = isWorse
      ? (["worse", "worse than zero"] as const)
      : isBetter
        ? (["evidence", "evidence of skill"] as const)
        : (["none", "no evidence of skill"] as const);
    const hasMeans = !rows.some(lacksMean);
    const baselines: readonly Baseline[] = hasMeans ? ["zero", "mean"] : ["zero"];
    const gains = baselines.map((name) => {
      const { r2, squaredError } = tests[name];
      const [baseline] = BASELINE_NAMES[name];
      if (r2 === null) return `no R² against ${baseline}`;
      return `R² ${percentText(r2)} against ${baseline}${bandText(r2, squaredError, quantile, SIZES_BAND, percentText)}`;
    });
    const numbers = `${gains.join("; ")}; equal weight for each ticker, ${datesText(dates)}`;
    // What Clark and West's test judges: held-out rows have no shrinkage, and score rows have the model's forecasts beside if it is pooled.
    const published = judged === "score" ? "The published forecasts" : "The model's forecasts";
    const isRanked = rows.some(({ ranked }) => ranked !== undefined);
    const forecasts = isRanked ? "Before shrinkage, the model's forecasts" : published;
    const known = knownText(tests, informative, quantile);
    const clarkWest = clarkWestText(tests, quantile, hasMeans);
    return [state, `Sizes: ${finding} (${numbers}). ${forecasts} ${known} (${clarkWest}).`];
  };
  const [state, sentence] = judge();
  const test = ({ r2, clarkWest, squaredError }: SizeTests[Baseline]) => ({
    r2,
    clark_west_t: finiteOrNull(clarkWest),
    squared_error_t: finiteOrNull(squaredError),
  });
  return {
    state,
    figure: tests[best].r2,
    informative,
    best_baseline: best,
    dates,
    t: finiteOrNull(tests[best].clarkWest),
    quantile,
    method: meanMethod(dates),
    against: { zero: test(zero), mean: test(ofMean) },
    sentence,
  };
}

/** Each baseline as a test and as a sentence names it. */
const BASELINE_NAMES = {
  zero: ["zero", "a forecast of zero"],
  mean: ["the training mean", "the training mean"],
} as const satisfies Record<Baseline, readonly [string, string]>;

function knownText({ zero, mean: ofMean }: SizeTests, informative: boolean, quantile: number): string {
  if (informative) return "show information about sizes";
  if (zero.clarkWest !== null && zero.clarkWest <= -quantile) return "go against the returns";
  if (ofMean.clarkWest !== null && ofMean.clarkWest <= -quantile)
    return "go against the returns beyond the training mean";
  return "show no evidence of information about sizes";
}

/** The t against each baseline, or why there is none: all its terms are 0 then. A t that rounds to the quantile gets another decimal. */
function clarkWestText(tests: SizeTests, quantile: number, hasMeans: boolean): string {
  const found = (["zero", "mean"] as const).map((name) => ({ name, t: tests[name].clarkWest }));
  const isClose = found.some(({ t }) => Math.abs(t ?? 0).toFixed(2) === quantile.toFixed(2));
  const tText = (t: number) =>
    Number.isFinite(t) ? t.toFixed(isClose ? 3 : 2) : t > 0 ? "+infinity" : "-infinity";
  const tested = found.flatMap(({ name, t }) =>
    t === null ? [] : [`${tText(t)} against ${BASELINE_NAMES[name][0]}`],
  );
  const equal = found.filter(({ name, t }) => t === null && (name === "zero" || hasMeans));
  return [
    ...(tested.length === 0 ? [] : [`Clark-West t ${tested.join(" and ")}, ${tText(quantile)} needed`]),
    ...(equal.length === 0
      ? []
      : [`they add nothing to ${equal.map(({ name }) => BASELINE_NAMES[name][1]).join(" or ")}`]),
    ...(hasMeans ? [] : ["the training mean is not known"]),
  ].join("; ");
}

export interface IntervalEvidence {
  readonly byDate: ReturnType<typeof coverageByDate>;
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
  const tenths = quiet === null || wild === null ? undefined : { quiet, wild };
  const dates = counted.length;
  const asked = 1 - alpha;
  const figure = finiteOrNull(mean(inside) / mean(counted));
  const quantile = quantileOf(dates, COVERAGE_PROBABILITY);
  // A ratio of totals, linearised (Cochran, "Sampling Techniques", 1977, 6.4).
  const error = figure === null ? null : meanError(inside.map((hits, i) => hits - figure * counted[i]!));
  const t = error === null ? null : finiteOrNull(((figure! - asked) * mean(counted)) / error);

  const judge = (): Judgement => {
    if (quantile === null || figure === null) return ["too_few", tooFew("Intervals", dates)];
    const isFar =
      Math.abs(figure - asked) > COVERAGE_SLACK * alpha && (t === null || Math.abs(t) >= quantile);
    const days =
      tenths === undefined
        ? ""
        : `; ${share(tenths.quiet)} on the quietest tenth of days, ${share(tenths.wild)} on the most volatile`;
    const numbers = `(${share(figure)} of returns over ${datesText(dates)}, nominal ${share(asked)}${days})`;
    if (isFar && figure < asked) return ["worse", `Intervals: too narrow ${numbers}.`];
    if (isFar) return ["none", `Intervals: too wide ${numbers}.`];
    const feedback =
      method === "adaptive"
        ? " Adaptive intervals reach the overall share by construction, in the long run."
        : "";
    return ["evidence", `Intervals: hold the nominal coverage overall ${numbers}.${feedback}`];
  };
  const [state, sentence] = judge();
  return { state, figure, asked, dates, t, quantile, method: meanMethod(dates), ...tenths, sentence };
}

function quantileOf(dates: number, probability: FixedBProbability): number | null {
  return datesQuantile(meanMethod(dates), dates, probability);
}

function exceeds(t: number | null, quantile: number | null): boolean {
  return t !== null && quantile !== null && t >= quantile;
}

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

function tooFew(what: string, dates: number, why = ""): string {
  return `${what}: too few dates (${dates}, ${MIN_DATES} needed)${why}.`;
}

export function datesText(dates: number): string {
  return dates === 1 ? "1 date" : `${dates.toLocaleString("en-US")} dates`;
}

function icText(value: number): string {
  return unsignedZero(value.toFixed(3));
}

function percentText(value: number): string {
  return `${unsignedZero((100 * value).toFixed(2))}%`;
}

function unsignedZero(text: string): string {
  return Number(text) === 0 ? text.replace("-", "") : text;
}

function share(value: number): string {
  return `${(100 * value).toFixed(1)}%`;
}
