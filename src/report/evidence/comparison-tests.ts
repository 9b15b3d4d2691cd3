import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { MIN_DATES, neweyWestError } from "../../evaluate/newey-west.ts";
import { mean } from "../../evaluate/statistics.ts";
import { dateT } from "../../evaluate/verdict/date-t.ts";
import { type Resamples, stationaryResamples } from "../statistics/block-bootstrap.ts";
import { type ComparedSeries, comparedSeries } from "../statistics/compared-series.ts";
import { modelConfidenceSet } from "../statistics/model-confidence-set.ts";
import { type AdjustedTest, stepwiseTests, type TestedSeries } from "../statistics/stepwise-tests.ts";
import { superiorAbility } from "../statistics/superior-ability.ts";

/** The probability that a family of tests gives any false evidence. */
export const LEVEL = 0.05;

/** Over fewer dates, a model confidence set loses the best output too often: 10 to 21 % of the time over 30 dates, instead of 5 %. */
export const MIN_SET_DATES = 250;

/** The evidence of one of several outputs, adjusted for their number. */
export interface AdjustedSkill {
  readonly order: AdjustedTest;
  /** Clark-West tests against zero and against the training mean. */
  readonly zero: number | null;
  readonly mean: number | null;
  /** The test with the smaller t of the two, since sizes need both; the one against zero if the training means are not known. */
  readonly sizes: AdjustedTest;
  /** Tests that the order is worse than chance, and that the squared error is larger than that of zero. */
  readonly worseOrder: AdjustedTest;
  readonly worseSizes: AdjustedTest;
}

/** The p that no output at all beats a benchmark, and the output that comes closest to beating it. */
export interface AbilityTest {
  readonly benchmark: "no order" | "zero forecast" | "training mean";
  readonly best: number;
  readonly p: number;
}

/** A test of two outputs: positive if the first is better. */
export interface PairTest extends AdjustedTest {
  readonly measure: "order" | "squared error";
  readonly first: number;
  readonly second: number;
  /** The mean over dates of the difference of orders; for squared errors, the mean over rows in units of the mean squared label. */
  readonly gain: number;
}

/** Several outputs on the rows that all of them have. */
export interface ComparisonTests {
  /** Dates with a row. */
  readonly dates: number;
  readonly form: ComparedSeries["form"];
  /** Undefined for fewer than MIN_DATES dates, like the others. */
  readonly skill: readonly AdjustedSkill[] | undefined;
  readonly ability: readonly AbilityTest[];
  /**
   * The p of each output in the model confidence sets, null if its losses are not numbers; undefined for fewer than MIN_SET_DATES
   * dates.
   */
  readonly confidence:
    | { readonly order: readonly (number | null)[]; readonly sizes: readonly (number | null)[] }
    | undefined;
  readonly pairs: readonly PairTest[];
}

/** @param outputs the same labelled rows, with the forecasts of each output. */
export function comparisonTests(outputs: readonly (readonly ForecastRows[])[]): ComparisonTests {
  const series = comparedSeries(outputs);
  const { form, losses } = series[0]!;
  const dates = losses.length;
  if (dates < MIN_DATES) {
    return { dates, form, skill: undefined, ability: [], confidence: undefined, pairs: [] };
  }
  const rows = outputs[0]!.reduce((sum, { days }) => sum + days.length, 0);
  const resamples = stationaryResamples(dates);
  const orders = series.map(({ order }) => known(order));
  const orderDates = orders[0]!.length;
  const ofOrders = orderDates === dates ? resamples : stationaryResamples(orderDates);
  return {
    dates,
    form,
    skill: adjustedSkill(series, resamples),
    ability: [
      ...abilityOf("no order", orders, ofOrders),
      ...abilityOf(
        "zero forecast",
        series.map(({ zero }) => zero.nested),
        resamples,
      ),
      ...abilityOf(
        "training mean",
        series.map((one) => one.mean.nested),
        resamples,
      ),
    ],
    confidence: orderDates < MIN_SET_DATES ? undefined : confidenceSets(series, orders, resamples, ofOrders),
    pairs: pairTests(series, rows, resamples),
  };
}

/** Evidence of skill is one family of tests, evidence of the contrary another. */
function adjustedSkill(series: readonly ComparedSeries[], resamples: Resamples): AdjustedSkill[] {
  const orders = series.map(({ order }) => ({ values: order, scale: 1 }));
  const nested = (name: "zero" | "mean") =>
    series.map((one): TestedSeries => ({ values: one[name].nested, scale: one[name].scale }));
  const [zero, ofMean] = [nested("zero"), nested("mean")];
  const alone = [zero, ofMean].map((terms) =>
    terms.map(({ values, scale }) => dateT(values, scale, neweyWestError)),
  );
  const weaker = series.map((_, k) => {
    const [against, beside] = [alone[0]![k]!, alone[1]![k]!];
    if (ofMean[k]!.values.some(Number.isNaN)) return against === null ? NO_TERMS : zero[k]!;
    if (against === null || beside === null) return NO_TERMS;
    return against <= beside ? zero[k]! : ofMean[k]!;
  });
  const found = stepwiseTests([...orders, ...weaker], resamples, "above");
  const below = ({ values, scale }: TestedSeries) => ({ values: values.map((value) => -value), scale });
  const gained = series.map((one): TestedSeries => ({ values: one.zero.gained, scale: one.zero.scale }));
  const worse = stepwiseTests([...orders, ...gained].map(below), resamples, "above");
  const count = series.length;
  return series.map((_, k) => ({
    order: found[k]!,
    zero: alone[0]![k]!,
    mean: alone[1]![k]!,
    sizes: found[count + k]!,
    worseOrder: worse[k]!,
    worseSizes: worse[count + k]!,
  }));
}

/** Without a t, there is no test. */
const NO_TERMS: TestedSeries = { values: new Float64Array(0), scale: 1 };

function abilityOf(
  benchmark: AbilityTest["benchmark"],
  gains: readonly Float64Array[],
  resamples: Resamples,
): AbilityTest[] {
  if (gains[0]!.length < MIN_DATES) return [];
  const found = superiorAbility(gains, resamples);
  return found === undefined ? [] : [{ benchmark, best: found.best, p: found.p }];
}

function confidenceSets(
  series: readonly ComparedSeries[],
  orders: readonly Float64Array[],
  resamples: Resamples,
  ofOrders: Resamples,
): NonNullable<ComparisonTests["confidence"]> {
  const losses = orders.map((values) => values.map((value) => -value));
  return {
    order: confidenceOf(losses, ofOrders),
    sizes: confidenceOf(
      series.map((one) => one.losses),
      resamples,
    ),
  };
}

function confidenceOf(losses: readonly Float64Array[], resamples: Resamples): (number | null)[] {
  const counted = losses.flatMap((values, k) => (values.every(Number.isFinite) ? [k] : []));
  const p = modelConfidenceSet(
    counted.map((k) => losses[k]!),
    resamples,
  );
  return losses.map((_, k) => p[counted.indexOf(k)] ?? null);
}

function pairTests(series: readonly ComparedSeries[], rows: number, resamples: Resamples): PairTest[] {
  const pairs = series.flatMap((first, i) =>
    series.slice(i + 1).flatMap((second, k) => {
      const names = { first: i, second: i + 1 + k };
      const errors = difference(second.losses, first.losses);
      const scale = Math.max(first.zero.scale, second.zero.scale);
      const order = difference(first.order, second.order);
      const total = errors.reduce((sum, value) => sum + value, 0);
      return [
        { ...names, measure: "order", gain: mean(known(order)), values: order, scale: 1 },
        { ...names, measure: "squared error", gain: total / rows, values: errors, scale },
      ] as const;
    }),
  );
  const tests = stepwiseTests(pairs, resamples, "apart");
  return pairs.map(({ values: _values, scale: _scale, ...pair }, i) => ({ ...pair, ...tests[i]! }));
}

function difference(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value - b[i]!);
}

function known(values: Float64Array): Float64Array {
  return values.filter((value) => !Number.isNaN(value));
}
