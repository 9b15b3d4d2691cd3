import type { Finding } from "../../src/audit/check.ts";
import type { FindingCode } from "../../src/audit/findings.ts";
import type { AuditCheckName } from "../../src/contract/config/payload-schemas.ts";
import type { Market, TwoDays } from "./clean-markets.ts";
import {
  aDayEarly,
  type CorruptFeature,
  centredPrices,
  centredReturns,
  centredVolatility,
  laterReturn,
  minMax,
  missingBeforeLosses,
  nextPriceScaled,
  nextSize,
  smoothed,
  zScores,
} from "./spoilt-features.ts";

/** The place of a fault: one feature of one ticker. */
export interface Place {
  readonly ticker: string;
  readonly feature: string;
}

/** A fault of the maker of blobs. */
export interface BlobFault {
  /** The check that must find it, and the expected finding. */
  readonly check: Extract<AuditCheckName, "foresight" | "restatement">;
  readonly codes: readonly FindingCode[];
  /** The finding for some features instead. */
  readonly or?: FindingCode;
  readonly plant: (days: TwoDays, place: Place) => TwoDays;
}

/** A fault in today's blobs, whatever the earlier ones contained. */
function known(codes: readonly FindingCode[], spoil: CorruptFeature): BlobFault {
  const plant = ({ earlier, today }: TwoDays, place: Place) => ({
    earlier,
    today: withFeature(today, place, spoil),
  });
  return { check: "foresight", codes, plant };
}

/** A fault of a maker who computes both days' blobs in the same way. */
function remade(codes: readonly FindingCode[], spoil: CorruptFeature): BlobFault {
  const plant = ({ earlier, today }: TwoDays, place: Place) => ({
    earlier: withFeature(earlier, place, spoil),
    today: withFeature(today, place, spoil),
  });
  return { check: "restatement", codes, plant };
}

/** A fault of today's blobs that earlier ones did not have. */
function rewritten(
  codes: readonly FindingCode[],
  change: (market: Market, place: Place) => Market,
): BlobFault {
  const plant = ({ earlier, today }: TwoDays, place: Place) => ({ earlier, today: change(today, place) });
  return { check: "restatement", codes, plant };
}

/** Faults by name. */
export const FAULTS = {
  // A return minus the market's correlates with the label like a strong forecast.
  "feature dated a day early": { ...known(["knows_next_price"], aDayEarly), or: "implausible_skill" },
  "centred average of 5 prices": known(["knows_next_price"], centredPrices(2)),
  "centred average of 21 prices": {
    ...known(["knows_later_return"], centredPrices(10)),
    or: "knows_next_price",
  },
  "centred mean of 21 returns": known(["knows_later_return"], centredReturns(10)),
  "centred volatility of 21 returns": known(["knows_later_return"], centredVolatility(10)),
  "z-scores of the whole sample": known(["whole_sample_standardised"], zScores),
  "min-max scaling of the whole sample": known(["whole_sample_standardised"], minMax),
  "the next price, scaled and shifted": known(["equals_later_value"], nextPriceScaled),
  "the return 5 days later": known(["equals_later_value"], laterReturn(5)),
  "the size of the next return": known(["knows_next_price"], nextSize),
  "missing before the worst 5 % of returns": known(["missing_predicts_label"], missingBeforeLosses),
  "filled backwards on dates without a price": {
    check: "foresight",
    codes: ["filled_from_later"],
    plant: ({ earlier, today }, place) => ({
      earlier,
      today: withFeature(
        withPrices(today, place.ticker, (price, i) => (isGap(i) ? Number.NaN : price)),
        place,
        (values) => values.map((value, i) => (isGap(i) ? values[i + 1]! : value)),
      ),
    }),
  },
  "centred average of 5 values, made anew each day": remade(["feature_rewritten"], smoothed(2)),
  "z-scores of the whole sample, made anew each day": remade(["feature_standardised_again"], zScores),
  "a restated week of the feature": restated(5, 0.1),
  "one value of the feature, by 1e-6 deviations": restated(1, 1e-6),
  "3 nulls filled from the next value": {
    check: "restatement",
    codes: ["feature_back_filled"],
    plant: ({ earlier, today }, place) => ({
      earlier: withFeature(earlier, place, (values) =>
        values.map((x, i) => (i >= 200 && i < 203 ? Number.NaN : x)),
      ),
      today: withFeature(today, place, (values) =>
        values.map((x, i) => (i >= 200 && i < 203 ? values[203]! : x)),
      ),
    }),
  },
  "a restated week of prices, by one factor": rewritten(["price_rewritten"], (market, { ticker }) =>
    withPrices(market, ticker, (price, i) => (i >= 200 && i < 205 ? 1.01 * price : price)),
  ),
  "a split of 4, features that are ratios": rewritten(["price_rescaled"], (market, { ticker }) =>
    withPrices(market, ticker, (price) => price / 4),
  ),
  "a dividend of 0.8 %, features that are ratios": rewritten(["price_rescaled"], (market, { ticker }) =>
    withPrices(market, ticker, (price, i) => (i < 220 ? 0.992 * price : price)),
  ),
  "a split of 4, a feature that is a price": {
    check: "restatement",
    codes: ["price_rescaled", "feature_rescaled"],
    plant: ({ earlier, today }, place) => ({
      earlier: withFeature(earlier, place, (_, prices) => prices),
      today: withFeature(
        withPrices(today, place.ticker, (price) => price / 4),
        place,
        (_, prices) => prices,
      ),
    }),
  },
  "a universe without one loser": rewritten(["ticker_vanished"], ({ prices, features }, { ticker }) => ({
    prices: prices.filter((one) => one.ticker !== ticker),
    features: features.filter((one) => one.ticker !== ticker),
  })),
} as const satisfies Record<string, BlobFault>;

/** Dates without a price, after the windows of the features are full. */
function isGap(row: number): boolean {
  return row > 130 && row % 20 === 7;
}

export type FaultName = keyof typeof FAULTS;

/** Whether a finding reports the fault in its place. */
export function isOf({ codes, or }: BlobFault, place: Place, { code, ticker, feature }: Finding): boolean {
  const isThere = ticker === place.ticker && (feature === undefined || feature === place.feature);
  return isThere && (code === or || (codes as readonly string[]).includes(code));
}

/** `rows` values of the feature, shifted by `deviations` of it. */
function restated(rows: number, deviations: number): BlobFault {
  return rewritten(["feature_rewritten"], (market, place) =>
    withFeature(market, place, (values) => {
      const there = values.filter(Number.isFinite);
      const mean = there.reduce((sum, value) => sum + value, 0) / there.length;
      const variance = there.reduce((sum, value) => sum + (value - mean) ** 2, 0) / there.length;
      return values.map((value, i) =>
        i >= 200 && i < 200 + rows ? value + deviations * Math.sqrt(variance) : value,
      );
    }),
  );
}

/** The market with a fault in one feature of one ticker, and all others unchanged. */
export function withFeature(market: Market, { ticker, feature }: Place, spoil: CorruptFeature): Market {
  const features = market.features.map((one, t) => {
    if (one.ticker !== ticker) return one;
    const n = one.days.length;
    const at = one.columns.indexOf(feature) * n;
    const values = one.values.slice();
    values.set(spoil(one.values.subarray(at, at + n), market.prices[t]!.prices, one.days), at);
    return { ...one, values };
  });
  return { ...market, features };
}

function withPrices(market: Market, ticker: string, change: (price: number, row: number) => number): Market {
  const prices = market.prices.map((one) =>
    one.ticker === ticker ? { ...one, prices: one.prices.map(change) } : one,
  );
  return { ...market, prices };
}
