import { counted } from "../../contract/errors/wording.ts";
import type { Finding } from "../check.ts";
import { type FindingCode, finding } from "../findings.ts";
import { LATE_DAYS } from "./cell-changes.ts";
import { type ChangeCause, changeCauses } from "./change-causes.ts";
import { datesOf, datesText, extent, extentText, factors, short, size, sizeText } from "./change-evidence.ts";
import type { ChangeTally, TallyKind } from "./change-tally.ts";
import type { HistoryComparison } from "./history-comparison.ts";
import type { FactorStep } from "./rescaling.ts";
import { tickerFindings } from "./ticker-findings.ts";

/** Features that a note names. */
const MAX_NAMES = 10;

const CODES: Readonly<Record<TallyKind, FindingCode>> = {
  rewritten: "feature_rewritten",
  rescaled: "feature_rescaled",
  standardised: "feature_standardised_again",
  filled: "feature_back_filled",
  erased: "feature_erased",
  late: "feature_arrived_late",
};

/**
 * The changes of the feature blob.
 * @param priceFactors by ticker: the factors of its prices, if they were rescaled.
 */
export function featureFindings(
  features: HistoryComparison,
  priceFactors: ReadonlyMap<string, readonly FactorStep[]>,
): Finding[] {
  const found = changeCauses(features.features).map((cause) => causeFinding(cause, priceFactors));
  return [...tickerFindings("feature", features), ...found, ...rowFindings(features), ...removed(features)];
}

/** One finding per cause: that of its first feature and most severe kind, with the other features and kinds listed. */
function causeFinding(
  { features, kinds }: ChangeCause,
  priceFactors: ReadonlyMap<string, readonly FactorStep[]>,
): Finding {
  const [[kind, tally], ...others] = kinds;
  const [name] = features;
  const single = featureFinding(name!, kind, tally, priceFactors);
  if (features.length === 1 && others.length === 0) return single;
  const { feature: _, ...rest } = single;
  const shown = features.slice(0, MAX_NAMES);
  const also = others.map(([other, its]) => messageOf(other, its));
  const message = [messageOf(kind, tally), ...also].join(", and ");
  const listed = features.length > shown.length ? `${shown.join(", ")} and others` : shown.join(", ");
  return {
    ...rest,
    ...(features.length === 1 ? { feature: name! } : {}),
    message:
      features.length === 1
        ? `${name}: ${message}`
        : `${features.length} features changed alike: ${listed}. Of ${name}, ${message}`,
    evidence: {
      ...rest.evidence,
      ...(features.length === 1 ? {} : { features: features.length, first_features: shown }),
      ...(others.length === 0
        ? {}
        : { also: Object.fromEntries(others.map(([other, its]) => [CODES[other], extent(its)])) }),
    },
  };
}

function featureFinding(
  feature: string,
  kind: TallyKind,
  tally: ChangeTally,
  priceFactors: ReadonlyMap<string, readonly FactorStep[]>,
): Finding {
  const only = tally.tickers === 1 ? { ticker: tally.examples[0] } : {};
  const sized = kind === "rewritten" || kind === "rescaled" || kind === "standardised";
  const asPrices = kind === "rescaled" ? { as_prices: tickersAsPrices(tally, priceFactors) } : {};
  return finding(CODES[kind], {
    feature,
    ...only,
    message: `${feature}: ${messageOf(kind, tally)}`,
    evidence: {
      ...extent(tally),
      ...(sized ? size(tally) : {}),
      ...(kind === "rescaled" ? factors(tally) : {}),
      ...asPrices,
    },
  });
}

function messageOf(kind: TallyKind, tally: ChangeTally): string {
  const extent = extentText(tally);
  switch (kind) {
    case "rewritten":
      return `${extent} changed ${sizeText(tally)}`;
    case "rescaled":
      return `${extent} were multiplied by a constant, such as ${short(tally.factors[0]!.steps[0]!.factor)} for ${tally.examples[0]}: it is a level, not a ratio`;
    case "standardised":
      return `${extent} were moved along one straight line for each ticker, ${sizeText(tally)}, as when the mean and the deviation of the whole sample are taken again`;
    case "filled":
      return `${extent} were missing and have numbers now`;
    case "late":
      return `${extent} came after the earlier blob was made`;
    case "erased":
      return `${extent} had numbers and are missing now`;
  }
}

/** Of the tickers with listed factors, how many have the factor of their prices, or its inverse as volumes do. */
function tickersAsPrices(
  { factors }: ChangeTally,
  priceFactors: ReadonlyMap<string, readonly FactorStep[]>,
): number {
  return factors.filter(({ ticker, steps }) => {
    const price = priceFactors.get(ticker)?.[0]?.factor;
    const own = steps[0]!.factor;
    return price !== undefined && [own / price, own * price].some((ratio) => Math.abs(ratio - 1) < 1e-2);
  }).length;
}

function rowFindings({ calendar }: HistoryComparison): Finding[] {
  const added = calendar.added();
  const isLate = calendar.addedLate(LATE_DAYS) === added.rows;
  const kinds = [
    [isLate ? "feature_arrived_late" : "feature_rows_added", added, "the earlier feature blob lacked"],
    ["feature_rows_vanished", calendar.lost(), "the earlier feature blob had, and today's lacks,"],
  ] as const;
  return kinds.flatMap(([code, { rows, tickers, days }, what]) => {
    if (rows === 0) return [];
    const message = `${what} ${counted(rows, "row")} of ${counted(tickers.length, "ticker")} ${datesText(days)}`;
    const only = tickers.length === 1 ? { ticker: tickers[0] } : {};
    const evidence = { rows, tickers: tickers.length, ...datesOf(days), examples: tickers.slice(0, 5) };
    return [finding(code, { ...only, message: `${message[0]!.toUpperCase()}${message.slice(1)}`, evidence })];
  });
}

function removed({ removed }: HistoryComparison): Finding[] {
  if (removed.size === 0) return [];
  const names = [...removed.keys()].slice(0, MAX_NAMES);
  const tickers = Math.max(...removed.values());
  return [
    finding("feature_removed", {
      message: `${counted(removed.size, "feature")} of up to ${counted(tickers, "ticker")} cannot be compared: today's blob lacks ${names.join(", ")}`,
      evidence: { features: removed.size, tickers, examples: names },
    }),
  ];
}
