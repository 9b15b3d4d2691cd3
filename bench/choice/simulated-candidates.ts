import type { TestedTicker } from "../../src/evaluate/choice/candidate-losses.ts";
import { seededRandom } from "../../test/twins/random.ts";

/** A market in which each candidate forecasts with one feature of its own, and only one feature may say something. */
export interface SimulatedMarket {
  readonly tickers: readonly TestedTicker[];
  /** By ticker: labels of dates after all folds, and each candidate's forecasts of them. */
  readonly untouched: readonly {
    readonly realised: Float64Array;
    readonly predicted: readonly Float64Array[];
  }[];
}

/** Dates before the first fold, of the warm-up folds, of the published folds, and after the folds. */
export const SPANS = { train: 500, warmUp: 225, published: 225, untouched: 500 } as const;

const FOLD_ROWS = 15;

/** The candidate whose feature the labels follow. */
const TRUE_CANDIDATE = 3;

/**
 * Labels and features are standard normal and independent over tickers and dates. Each fold and the final fit estimate a candidate's slope
 * on all earlier dates.
 * @param correlation of the labels with one candidate's feature.
 */
export function simulatedMarket(
  seed: number,
  { tickers, candidates, correlation }: { tickers: number; candidates: number; correlation: number },
): SimulatedMarket {
  const random = seededRandom(seed);
  const { train, warmUp, published, untouched } = SPANS;
  const dates = train + warmUp + published + untouched;
  const tested = warmUp + published;
  const markets = Array.from({ length: tickers }, (_, i) => {
    const features = Array.from({ length: candidates }, () =>
      Float64Array.from({ length: dates }, random.normal),
    );
    const noise = Math.sqrt(1 - correlation ** 2);
    const labels = features[TRUE_CANDIDATE]!.map((x) => correlation * x + noise * random.normal());
    const forecasts = features.map((feature) => walkForward(feature, labels));
    const part = (from: number, to: number) => forecasts.map((own) => own.slice(from, to));
    return {
      ticker: {
        ticker: `T${i}`,
        days: Int32Array.from({ length: tested }, (_, d) => d),
        labelDays: Int32Array.from({ length: tested }, (_, d) => d + 1),
        realised: labels.slice(train, train + tested),
        predicted: part(train, train + tested),
        unit: 1,
        folds: Array.from({ length: tested / FOLD_ROWS }, (_, fold) => ({
          from: fold * FOLD_ROWS,
          to: (fold + 1) * FOLD_ROWS,
          first: fold * FOLD_ROWS,
        })),
      },
      untouched: { realised: labels.slice(train + tested), predicted: part(train + tested, dates) },
    };
  });
  return {
    tickers: markets.map(({ ticker }) => ticker),
    untouched: markets.map((market) => market.untouched),
  };
}

/** Forecasts with a slope through 0, estimated on all dates before the fold. After the last fold, the slope no longer changes. */
function walkForward(feature: Float64Array, labels: Float64Array): Float64Array {
  const { train, warmUp, published } = SPANS;
  const forecasts = new Float64Array(feature.length);
  let [xy, xx, slope] = [0, 0, 0];
  for (const [d, x] of feature.entries()) {
    const isFoldStart = (d - train) % FOLD_ROWS === 0 && d <= train + warmUp + published;
    if (d >= train && isFoldStart) slope = xy / xx;
    forecasts[d] = slope * x;
    xy += x * labels[d]!;
    xx += x * x;
  }
  return forecasts;
}
