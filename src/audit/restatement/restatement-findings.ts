import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { Finding } from "../check.ts";
import { type FindingCode, finding } from "../findings.ts";
import { LATE_DAYS } from "./cell-changes.ts";
import { datesOf, datesText, extent, extentText, factors, short, size, sizeText } from "./change-evidence.ts";
import { type ChangeCause, type ChangeTally, changeCauses, type TallyKind } from "./change-tally.ts";
import type { HistoryComparison } from "./history-comparison.ts";
import type { FactorStep } from "./rescaling.ts";

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
  return [
    ...tickerFindings("feature", features),
    ...found,
    ...featureRowFindings(features),
    ...removed(features),
  ];
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
        : `${features.length} features changed in the same way: ${listed}. For ${name}, ${message}`,
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
      return `${extent} changed by one linear function per ticker, ${sizeText(tally)}, as when they are standardised again with the mean and standard deviation of the whole sample`;
    case "filled":
      return `${extent} were missing and have numbers now`;
    case "late":
      return `${extent} arrived after the earlier blob was made`;
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

function featureRowFindings({ calendar }: HistoryComparison): Finding[] {
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

/**
 * The changes of the data-extraction blob. The histories contain only price dates, so a price that appeared or disappeared is a row.
 * @param returns of the tickers before they vanished, and of the others.
 */
export function priceFindings(prices: HistoryComparison, returns: PastReturns): Finding[] {
  const kinds = prices.features.get("price")?.kinds ?? new Map<TallyKind, ChangeTally>();
  const found = [...kinds].map(([kind, tally]) => {
    const only = tally.tickers === 1 ? { ticker: tally.examples[0] } : {};
    const evidence = { ...extent(tally), ...size(tally) };
    if (kind !== "rescaled")
      return finding("price_rewritten", {
        ...only,
        message: `${extentText(tally)} of the prices changed ${sizeText(tally)}; the labels changed with them`,
        evidence,
      });
    return finding("price_rescaled", {
      ...only,
      message: `The prices of ${counted(tally.tickers, "ticker")} were multiplied by a constant, such as ${short(tally.factors[0]!.steps[0]!.factor)} for ${tally.examples[0]}, as for a split or a dividend: harmless for labels and for features that are ratios of prices`,
      evidence: { ...evidence, ...factors(tally) },
    });
  });
  return [...tickerFindings("data_extractor", prices, returns), ...found, ...priceRowFindings(prices)];
}

function priceRowFindings({ calendar }: HistoryComparison): Finding[] {
  const [added, lost] = [calendar.added(), calendar.lost()];
  const isLate = calendar.addedLate(LATE_DAYS) === added.rows;
  const kinds = [
    [isLate ? "price_arrived_late" : "price_back_filled", added, "were missing in the earlier blob"],
    ["price_vanished", lost, "of the earlier blob are missing today"],
  ] as const satisfies (readonly [FindingCode, typeof added, string])[];
  return kinds.flatMap(([code, { rows, tickers, days }, what]) => {
    if (rows === 0) return [];
    return [
      finding(code, {
        ...(tickers.length === 1 ? { ticker: tickers[0] } : {}),
        message: `${counted(rows, "price")} of ${counted(tickers.length, "ticker")} ${datesText(days)} ${what}`,
        evidence: { rows, tickers: tickers.length, ...datesOf(days), examples: tickers.slice(0, 5) },
      }),
    ];
  });
}

/** Tickers that a finding names. */
const MAX_TICKERS = 20;

/** Mean log-returns over the whole earlier history, to see whether the vanished tickers were losers; null without prices. */
export interface PastReturns {
  readonly vanished: number | null;
  readonly kept: number | null;
}

const BLOB_NAMES = { feature: "feature blob", data_extractor: "data-extraction blob" } as const;

/** Tickers that only one of the blobs has. */
function tickerFindings(
  blob: keyof typeof BLOB_NAMES,
  { vanished, appeared, tickers }: HistoryComparison,
  returns?: PastReturns,
): Finding[] {
  const evidenceOf = (names: readonly string[]): AuditFacts => ({
    blob,
    tickers: names.length,
    of: tickers + vanished.length,
    examples: names.slice(0, MAX_TICKERS),
  });
  const findings: Finding[] = [];
  if (vanished.length > 0) {
    const past =
      returns === undefined ? {} : { return_vanished: returns.vanished, return_kept: returns.kept };
    findings.push(
      finding("ticker_vanished", {
        ...(vanished.length === 1 ? { ticker: vanished[0] } : {}),
        message: `${counted(vanished.length, "ticker")} of the earlier ${BLOB_NAMES[blob]} ${vanished.length === 1 ? "is" : "are"} not in today's: ${listed(vanished)}`,
        evidence: { ...evidenceOf(vanished), ...past },
      }),
    );
  }
  if (appeared.length > 0) {
    findings.push(
      finding("ticker_appeared", {
        ...(appeared.length === 1 ? { ticker: appeared[0] } : {}),
        message: `${counted(appeared.length, "ticker")} of today's ${BLOB_NAMES[blob]} ${appeared.length === 1 ? "was" : "were"} not in the earlier one: ${listed(appeared)}`,
        evidence: evidenceOf(appeared),
      }),
    );
  }
  return findings;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_TICKERS).join(", ");
  return names.length > MAX_TICKERS ? `${shown} and others` : shown;
}
