import { intervalTables, tickerIntervals } from "../../src/evaluate/intervals/ticker-intervals.ts";
import { recentVolatility } from "../../src/panel/labels.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";

const RESIDUALS = 225;
const SCORE_ROWS = 1_000;
const TICKERS = 20;

/** Makes one series of n returns. */
type Series = (n: number, random: Random) => Float64Array;

const DEVIATION = 0.01;

export const SERIES: Readonly<Record<string, Series>> = {
  "iid normal": (n, random) => Float64Array.from({ length: n }, () => DEVIATION * random.normal()),
  "t(3)": (n, random) => Float64Array.from({ length: n }, () => DEVIATION * studentT(3, random)),
  "GARCH(1,1)": garch,
  "volatility x 3": (n, random) => shifted(n, 3, random),
  "volatility / 3": (n, random) => shifted(n, 1 / 3, random),
};

function studentT(degrees: number, random: Random): number {
  const squares = Array.from({ length: degrees }, () => random.normal() ** 2);
  return random.normal() / Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / degrees);
}

function garch(n: number, random: Random): Float64Array {
  let variance = DEVIATION ** 2;
  return Float64Array.from({ length: n }, () => {
    const value = Math.sqrt(variance) * random.normal();
    variance = 0.05 * DEVIATION ** 2 + 0.1 * value ** 2 + 0.85 * variance;
    return value;
  });
}

/** The volatility changes once, after 250 score rows. */
function shifted(n: number, factor: number, random: Random): Float64Array {
  return Float64Array.from(
    { length: n },
    (_, i) => (i < RESIDUALS + 250 ? 1 : factor) * DEVIATION * random.normal(),
  );
}

/** The evidence of the intervals around forecasts of 0, as in an output. */
export function seriesIntervals(series: Series) {
  const random = seededRandom(20_181_231);
  const tickers = Array.from({ length: TICKERS }, (_, t) => {
    const returns = series(RESIDUALS + SCORE_ROWS, random);
    const known = returns.subarray(0, RESIDUALS);
    const score = returns.subarray(RESIDUALS);
    const days = Int32Array.from(score, (_, i) => i);
    const rows = {
      days,
      labelDays: days.map((day) => day + 1),
      realised: score,
      predicted: new Float64Array(SCORE_ROWS),
      volatility: recentVolatility(returns).subarray(RESIDUALS),
    };
    const before = Int32Array.from(known, (_, i) => i - RESIDUALS);
    const residuals = {
      days: before,
      labelDays: before.map((day) => day + 1),
      realised: known,
      predicted: new Float64Array(RESIDUALS),
    };
    const settings = { method: "adaptive", alpha: 0.1, bound: "both" } as const;
    return tickerIntervals(`S${t}`, rows, residuals, settings).intervals!;
  });
  const { by_ticker, others, ...tables } = intervalTables(tickers, 0.1);
  const asObject = <T>(map: ReadonlyMap<string, T>) => Object.fromEntries(map);
  const other_methods = Object.fromEntries(
    [...others].map(([name, other]) => [name, { ...other, by_ticker: asObject(other.by_ticker) }]),
  );
  return { ...tables, by_ticker: asObject(by_ticker), other_methods };
}
