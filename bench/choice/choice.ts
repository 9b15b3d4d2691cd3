import { meanQuantile } from "../../src/contract/output/test-quantile.ts";
import { lossSeries } from "../../src/evaluate/choice/candidate-losses.ts";
import {
  choosePrequentially,
  difference,
  type Members,
  memberMeans,
} from "../../src/evaluate/choice/prequential.ts";
import type { Table } from "../table.ts";
import { type SimulatedMarket, SPANS, simulatedMarket } from "./simulated-candidates.ts";

const MARKETS = 100;
const SIZES = { tickers: 8, candidates: 30 } as const;
const CORRELATIONS = [0, 0.06, 0.1, 0.15];

/** What rules of choosing are worth on untouched dates, and what they claim beforehand. Minutes; does not depend on the machine. */
export async function benchChoice(): Promise<readonly Table[]> {
  return [
    {
      title: `choosing among ${SIZES.candidates} candidates, ${SIZES.tickers} tickers, ${SPANS.published} published dates, ${MARKETS} markets: R² on untouched dates in %, and in brackets what the rule claims`,
      header: ["correlation", "best per ticker", "best", "mean (default)", "mean of all", "choice beats 0"],
      rows: CORRELATIONS.map(rowOf),
    },
  ];
}

function rowOf(correlation: number): string[] {
  const sums = new Map<string, number>();
  const add = (name: string, value: number) => sums.set(name, (sums.get(name) ?? 0) + value / MARKETS);
  for (let seed = 1; seed <= MARKETS; seed++) {
    const market = simulatedMarket(seed, { ...SIZES, correlation });
    const perTicker = market.tickers.map((_, i) => [lowestLoss(market, i)]);
    add("per ticker", untouchedR2(market, perTicker));
    add("per ticker claims", ownR2(market, perTicker));
    const all = Array.from({ length: SIZES.candidates }, (_, c) => c);
    add(
      "all",
      untouchedR2(
        market,
        market.tickers.map(() => all),
      ),
    );
    for (const rule of ["best", "mean"] as const) {
      const choice = choosePrequentially(market.tickers, SIZES.candidates, {
        rule,
        measure: "squared_error",
      });
      add(
        rule,
        untouchedR2(
          market,
          market.tickers.map(() => choice.members),
        ),
      );
      add(
        `${rule} claims`,
        r2(
          market.tickers.map(({ realised }, i) => [realised, choice.predicted[i]!] as const),
          SPANS.warmUp,
        ),
      );
      if (rule === "mean") add("beats", beatsFirst(market, choice.predicted) ? 1 : 0);
    }
  }
  const shown = (name: string) => (100 * sums.get(name)!).toFixed(2);
  const both = (name: string) => `${shown(name)} (${shown(`${name} claims`)})`;
  const share = (name: string) => `${(100 * sums.get(name)!).toFixed(0)} %`;
  return [String(correlation), both("per ticker"), both("best"), both("mean"), shown("all"), share("beats")];
}

/** The candidate with the smallest squared error of a ticker on the published dates. */
function lowestLoss({ tickers }: SimulatedMarket, i: number): number {
  const { realised, predicted } = tickers[i]!;
  const losses = predicted.map((own) => squaredError(realised, own, SPANS.warmUp));
  return losses.indexOf(Math.min(...losses));
}

function untouchedR2({ untouched }: SimulatedMarket, members: readonly Members[]): number {
  const rows = untouched.map(({ realised, predicted }, i) => {
    const forecasts = new Float64Array(realised.length);
    memberMeans(predicted, members[i]!, forecasts);
    return [realised, forecasts] as const;
  });
  return r2(rows, 0);
}

function ownR2({ tickers }: SimulatedMarket, members: readonly Members[]): number {
  return r2(
    tickers.map(({ realised, predicted }, i) => [realised, predicted[members[i]![0]!]!] as const),
    SPANS.warmUp,
  );
}

/** 1 - SSE / SSE of the zero forecast. */
function r2(rows: readonly (readonly [Float64Array, Float64Array])[], from: number): number {
  const sum = (of: (realised: Float64Array, predicted: Float64Array) => number) =>
    rows.reduce((total, [realised, predicted]) => total + of(realised, predicted), 0);
  const error = sum((realised, predicted) => squaredError(realised, predicted, from));
  return 1 - error / sum((realised) => squaredError(realised, new Float64Array(realised.length), from));
}

function squaredError(realised: Float64Array, predicted: Float64Array, from: number): number {
  let sum = 0;
  for (let row = from; row < realised.length; row++) sum += (realised[row]! - predicted[row]!) ** 2;
  return sum;
}

/** Whether the warning `choice_is_noise` would be absent. */
function beatsFirst({ tickers }: SimulatedMarket, predicted: readonly Float64Array[]): boolean {
  const published = tickers.map((ticker, i) => ({
    ...ticker,
    labelDays: ticker.labelDays.subarray(SPANS.warmUp),
    days: ticker.days.subarray(SPANS.warmUp),
    realised: ticker.realised.subarray(SPANS.warmUp),
    predicted: [ticker.predicted[0]!, predicted[i]!].map((own) => own.subarray(SPANS.warmUp)),
  }));
  const { excess, days } = lossSeries(published, 2, "squared_error");
  const { mean, error } = difference(excess[0]!, excess[1]!, days.length);
  return mean > meanQuantile(days.length) * error;
}
