/** Faults in one feature of every ticker, and honest markets with a skilled feature: what the pooled tests find, and what they miss. */
import type { FindingCode } from "../../src/audit/findings.ts";
import type { Table } from "../bench.ts";
import { cleanMarket, FIRST_SEED, type Market, type MarketSize } from "./clean-markets.ts";
import { foresightOf } from "./examined-market.ts";
import { withFeature } from "./planted-faults.ts";
import { signalMarket } from "./signal-markets.ts";
import {
  type CorruptFeature,
  correlatedWithNext,
  missingBeforeCalm,
  missingBeforeDecline,
  monthMean,
  quarterFigure,
  restatedThird,
  tenthOfWeeksEarly,
} from "./spoilt-features.ts";

const FOR_RETURNS: readonly FindingCode[] = ["implausible_skill", "knows_next_price", "knows_later_return"];

interface SharedFault {
  readonly codes: readonly FindingCode[];
  readonly spoil: CorruptFeature;
}

/** Faults by name. */
export const SHARED_FAULTS: Readonly<Record<string, SharedFault>> = {
  "correlates 0.15 with the next return": { codes: FOR_RETURNS, spoil: correlatedWithNext(0.15) },
  "the mean return of the whole month": { codes: FOR_RETURNS, spoil: monthMean },
  "a quarter's figure, known from its first day": { codes: FOR_RETURNS, spoil: quarterFigure },
  "a third of all dates restated to the next date's value": { codes: FOR_RETURNS, spoil: restatedThird },
  "a tenth of all weeks dated a day early": { codes: FOR_RETURNS, spoil: tenthOfWeeksEarly },
  "missing before the calmest third of returns": {
    codes: ["missing_predicts_label"],
    spoil: missingBeforeCalm,
  },
  "missing before the worst fifth of months": {
    codes: ["missing_predicts_label"],
    spoil: missingBeforeDecline,
  },
};

const PLANTED_IN = ["mom_5", "vol_21", "sma_gap_50", "rel_1", "rsi_14"];

/**
 * The feature with the fault: a different one for each market, because a fault that replaces the feature is the same for all
 * features of a market.
 */
export function plantedIn(market: number): string {
  return PLANTED_IN[market % PLANTED_IN.length]!;
}

/** The market with a fault in one feature of every ticker. */
export function withSharedFault(market: Market, feature: string, spoil: CorruptFeature): Market {
  return market.prices.reduce(
    (spoilt, { ticker }) => withFeature(spoilt, { ticker, feature }, spoil),
    market,
  );
}

const SHARED_SIZES: readonly MarketSize[] = [
  { tickers: 6, days: 500 },
  { tickers: 6, days: 1_000 },
  { tickers: 20, days: 1_000 },
];
const SHARED_MARKETS = 20;

export function sharedFaults(): Table {
  const columns = SHARED_SIZES.map(foundShares);
  const rows = Object.keys(SHARED_FAULTS).map((name, k) => [name, ...columns.map((column) => column[k]!)]);
  return {
    title: "faults in one of 26 features of every ticker, found by foresight without an earlier blob",
    header: ["fault", ...SHARED_SIZES.map(({ tickers, days }) => `${tickers} tickers, ${days} dates`)],
    rows,
  };
}

/** The number of markets in which each fault is found. */
function foundShares(size: MarketSize): string[] {
  const faults = Object.values(SHARED_FAULTS);
  const found = faults.map(() => 0);
  for (let seed = 1; seed <= SHARED_MARKETS; seed++) {
    const feature = plantedIn(seed);
    const market = only(cleanMarket(FIRST_SEED + 4_000 + seed, size), feature);
    for (const [k, { codes, spoil }] of faults.entries()) {
      const { findings } = foresightOf(withSharedFault(market, feature, spoil));
      if (findings.some(({ code }) => (codes as readonly string[]).includes(code))) found[k]!++;
    }
  }
  return found.map((count) => `${count} of ${SHARED_MARKETS}`);
}

/** The faulty feature and three others: the rest is the same as in clean markets. */
function only(market: Market, feature: string): Market {
  const kept = [feature, "mom_10", "vol_63", "skew_63"];
  const features = market.features.map((one) => {
    const n = one.days.length;
    const parts = kept.map((name) => {
      const at = one.columns.indexOf(name) * n;
      return one.values.subarray(at, at + n);
    });
    const values = new Float64Array(kept.length * n);
    for (const [j, part] of parts.entries()) values.set(part, j * n);
    return { ...one, columns: kept, values };
  });
  return { ...market, features };
}

const HONEST = [
  { ic: 0.02, persistence: 0 },
  { ic: 0.05, persistence: 0 },
  { ic: 0.1, persistence: 0 },
  { ic: 0.02, persistence: 0.98 },
  { ic: 0.05, persistence: 0.98 },
  { ic: 0.1, persistence: 0.98 },
  { ic: 0.15, persistence: 0 },
  { ic: 0.2, persistence: 0 },
] as const;
const HONEST_SIZE = { tickers: 20, days: 1_000 };
const HONEST_MARKETS = 20;

/** How often a feature with skill is found, and any of 16 others without. */
export function skilledFeatures(): Table {
  const rows = HONEST.map(({ ic, persistence }) => {
    let [found, others] = [0, 0];
    for (let seed = 1; seed <= HONEST_MARKETS; seed++) {
      const { findings } = foresightOf(signalMarket(FIRST_SEED + seed, HONEST_SIZE, { ic, persistence }));
      if (findings.some(({ feature }) => feature === "f0")) found++;
      if (findings.some(({ feature }) => feature !== "f0")) others++;
    }
    return [
      ic.toFixed(2),
      persistence.toFixed(2),
      ...[found, others].map((n) => `${n} of ${HONEST_MARKETS}`),
    ];
  });
  return {
    title: `one of 17 features forecasts the next return; ${HONEST_SIZE.tickers} tickers, ${HONEST_SIZE.days} dates; foresight`,
    header: ["true IC", "autocorrelation", "markets in which it is found", "in which another one is"],
    rows,
  };
}
