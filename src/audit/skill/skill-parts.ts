import { MIN_DATES, meanQuantile } from "../../contract/output/test-quantile.ts";
import { MIN_TICKERS } from "../../evaluate/cross-section.ts";
import { type DatedForecasts, inTickerOrder } from "../../evaluate/forecast-rows.ts";
import { dateT } from "../../evaluate/mean-test.ts";
import { correlation, finiteOrNull, mean } from "../../evaluate/statistics.ts";

/** The minimum number of forecasts for a meaningful mean. */
export const MIN_FORECASTS = 20;

/** Trading days of a block: returns within a month keep their order, their clusters and their tickers. */
export const BLOCK_DATES = 20;

/** Fewer blocks give too few orders. */
export const MIN_BLOCKS = 5;

const SEED = 42;

export type DateIcs = ReturnType<typeof icsOf>;

/** How much of the IC of forecasts comes from lasting differences between tickers, and how much from their changes over time. */
export type SkillParts = NonNullable<ReturnType<typeof skillParts>>;

/**
 * Splits each forecast into the mean of its ticker's earlier forecasts and the rest. A mean over all dates would know later returns:
 * forecasts that follow past returns have a high mean if returns of the set itself were high.
 * @param rows labelled or not; those without a label count only in the means.
 * @returns undefined for too few dates or tickers, like permutedSkill.
 */
export function skillParts(rows: readonly DatedForecasts[], permutations: number) {
  const parts = rows.map((row) => {
    let sum = 0;
    const means = row.predicted.map((value, i) => {
      const mean = i < MIN_FORECASTS ? Number.NaN : sum / i;
      sum += value;
      return mean;
    });
    const from = Math.min(MIN_FORECASTS, means.length);
    const days = row.days.subarray(from);
    const realised = row.realised.subarray(from);
    const lasting = means.subarray(from);
    const timing = row.predicted.subarray(from).map((value, i) => value - lasting[i]!);
    return {
      lasting: { ...row, days, realised, predicted: lasting },
      timing: { ...row, days, realised, predicted: timing },
    };
  });
  const timing = permutedSkill(
    parts.map((part) => part.timing),
    permutations,
  );
  if (timing === undefined) return undefined;
  const byDate = onDates(parts.map((part) => part.lasting));
  const lasting = icsOf(byDate);
  const assigned = [...orders(rows.length, permutations)].map((order) =>
    mean(dateIcs({ ...byDate, predicted: Array.from(order, (ticker) => byDate.predicted[ticker]!) })),
  );
  const { p } = rankOf(lasting.icMean, assigned);
  return {
    whole: icsOf(onDates(rows)),
    /**
     * The IC of the mean of each ticker's earlier forecasts. With a t over dates alone, two orders of the same tickers that agree by chance
     * would look like skill, since both last: p is the rank of the IC among those of the same means assigned to other tickers.
     */
    lasting: { ...lasting, p },
    /** The IC of the forecast minus that mean. */
    timing,
  };
}

/**
 * Compares the forecasts with labels whose blocks of dates are permuted, in the same way for all tickers: common moves and volatility
 * clusters stay. The model is not fitted again.
 * @param rows labelled or not; those without a label do not count.
 * @returns undefined for fewer than MIN_BLOCKS blocks of dates, and if no date has MIN_TICKERS tickers.
 */
export function permutedSkill(rows: readonly DatedForecasts[], permutations: number) {
  const byDate = onDates(rows);
  if (byDate.dates <= (MIN_BLOCKS - 1) * BLOCK_DATES) return undefined;
  const own = icsOf(byDate);
  if (own.dates === 0) return undefined;
  const orders = [...blockPermutations(byDate.dates, permutations)];
  const permuted = orders.map((order) => mean(dateIcs(byDate, order)));
  return { ...own, ...rankOf(own.icMean, permuted) };
}

/** The rank of a mean IC among the `means` of permutations, which chance gives. */
function rankOf(icMean: number | null, means: readonly number[]) {
  // NaN if labels and forecasts met on no date, which is no evidence of skill.
  const rank = 1 + means.filter((one) => !(one < (icMean ?? Number.NaN))).length;
  const highestPermuted = Math.max(-1, ...means.filter((one) => !Number.isNaN(one)));
  return {
    /** 1 if no permutation gave as high a mean. */
    rank,
    permutations: means.length,
    /** A chance forecast gets p or less in a share p of all cases. */
    p: rank / (means.length + 1),
    highestPermuted,
  };
}

/** Shape (tickers, dates), NaN if a ticker has no labelled forecast. */
interface ByDate {
  readonly dates: number;
  readonly predicted: readonly Float64Array[];
  readonly realised: readonly Float64Array[];
}

/** Only the dates with a labelled forecast of some ticker. */
function onDates(rows: readonly DatedForecasts[]): ByDate {
  const ordered = inTickerOrder(rows);
  const isLabelled = (row: DatedForecasts, i: number) => !Number.isNaN(row.realised[i]!);
  const days = new Set(ordered.flatMap((row) => [...row.days.filter((_, i) => isLabelled(row, i))]));
  const positions = new Map([...days].sort((a, b) => a - b).map((day, at) => [day, at]));
  const spread = (row: DatedForecasts, values: Float64Array) => {
    const out = new Float64Array(positions.size).fill(Number.NaN);
    for (const [i, day] of row.days.entries()) if (isLabelled(row, i)) out[positions.get(day)!] = values[i]!;
    return out;
  };
  return {
    dates: positions.size,
    predicted: ordered.map((row) => spread(row, row.predicted)),
    realised: ordered.map((row) => spread(row, row.realised)),
  };
}

/** The IC of forecasts, or of one part of them, over dates. */
function icsOf(byDate: ByDate) {
  const ics = dateIcs(byDate);
  const t = dateT(ics, 1);
  return {
    /** Mean over dates of the correlation with the label across tickers; null if no date has one. */
    icMean: finiteOrNull(mean(ics)),
    t: t === null ? null : finiteOrNull(t),
    dates: ics.length,
    /** The t that chance exceeds in one of forty cases; null for fewer than 30 dates. */
    quantile: ics.length < MIN_DATES ? null : meanQuantile(ics.length, 0.975),
  };
}

/**
 * @param order shape (dates): for each date, the date that its labels come from; by default itself.
 * @returns the correlations across the tickers of each date that has enough of them.
 */
function dateIcs({ dates, predicted, realised }: ByDate, order?: Int32Array): Float64Array {
  const ics: number[] = [];
  const forecasts = new Float64Array(predicted.length);
  const labels = new Float64Array(predicted.length);
  for (let date = 0; date < dates; date++) {
    let n = 0;
    for (let t = 0; t < predicted.length; t++) {
      const forecast = predicted[t]![date]!;
      const label = realised[t]![order?.[date] ?? date]!;
      if (Number.isNaN(forecast) || Number.isNaN(label)) continue;
      forecasts[n] = forecast;
      labels[n++] = label;
    }
    const ic = n < MIN_TICKERS ? null : correlation(forecasts.subarray(0, n), labels.subarray(0, n));
    if (ic !== null) ics.push(ic);
  }
  return Float64Array.from(ics);
}

/**
 * Orders of n dates in which blocks of BLOCK_DATES successive dates are permuted; the last block may be shorter.
 * @returns `count` arrays of shape (n): for each date, the date that its labels come from.
 */
export function* blockPermutations(n: number, count: number): Generator<Int32Array> {
  const dates = Int32Array.from({ length: n }, (_, i) => i);
  for (const order of orders(Math.ceil(n / BLOCK_DATES), count))
    yield Int32Array.from(
      [...order].flatMap((block) => [...dates.subarray(block * BLOCK_DATES, (block + 1) * BLOCK_DATES)]),
    );
}

/** `count` random orders of n things, by Fisher and Yates; the same on every machine. */
function* orders(n: number, count: number): Generator<Int32Array> {
  const uniform = uniformNumbers(SEED);
  for (let k = 0; k < count; k++) {
    const order = Int32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = Math.floor(uniform() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    yield order;
  }
}

/** Uniform in [0, 1): mulberry32 (Tommy Ettinger, public domain). */
function uniformNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
