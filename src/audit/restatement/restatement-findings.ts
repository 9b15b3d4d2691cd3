import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { finiteOrNull } from "../../evaluate/statistics.ts";
import type { Finding } from "../check.ts";
import { type FindingCode, finding } from "../findings.ts";
import {
  type ChangeCause,
  type ChangeTally,
  changeCauses,
  type HistoryComparison,
  type TallyKind,
} from "./history-comparison.ts";

const MAX_FEATURES = 10;
const MAX_TICKERS = 20;
const MAX_EXAMPLES = 5;

/** Each kind of change of a feature: its code, what follows the extent, and whether numbers changed. */
const KINDS: Readonly<Record<TallyKind, readonly [FindingCode, text: (tally: ChangeTally) => string]>> = {
  rewritten: ["feature_rewritten", (tally) => `changed ${sizeText(tally)}`],
  rescaled: ["feature_rescaled", (tally) => `${factorText(tally)}: it is a level, not a ratio`],
  standardised: [
    "feature_standardised_again",
    (tally) =>
      `changed by one linear function per ticker, ${sizeText(tally)}, as when they are standardised again with the mean and standard deviation of the whole sample`,
  ],
  filled: ["feature_back_filled", () => "were missing and have numbers now"],
  erased: ["feature_erased", () => "had numbers and are missing now"],
  late: ["feature_arrived_late", () => "arrived after the earlier blob was made"],
};

function factorText({ factors, examples }: ChangeTally): string {
  return `were multiplied by a constant, such as ${short(factors[0]!.steps[0]!.factor)} for ${examples[0]}`;
}

/**
 * The changes of the feature blob.
 * @param priceFactors by ticker: the factor of its prices, if they were rescaled.
 */
export function featureFindings(
  features: HistoryComparison,
  priceFactors: ReadonlyMap<string, number>,
): Finding[] {
  const found = [
    ...tickerFindings("feature", features),
    ...changeCauses(features.features).map((cause) => causeFinding(cause, priceFactors)),
    ...rowFindings("feature", features),
  ];
  const { removed } = features;
  if (removed.size === 0) return found;
  const examples = [...removed.keys()].slice(0, MAX_FEATURES);
  const tickers = Math.max(...removed.values());
  const message = `${counted(removed.size, "feature")} of up to ${counted(tickers, "ticker")} cannot be compared: today's blob lacks ${examples.join(", ")}`;
  const evidence = { features: removed.size, tickers, examples };
  return [...found, finding("feature_removed", { message, evidence })];
}

/** One finding per cause: that of its first feature and most severe kind, with the other features and kinds listed. */
function causeFinding({ features, kinds }: ChangeCause, priceFactors: ReadonlyMap<string, number>): Finding {
  const [kind, tally] = kinds[0]!;
  const [name] = features;
  const evidence: AuditFacts = extent(tally);
  if (!["filled", "erased", "late"].includes(kind)) Object.assign(evidence, size(tally));
  if (kind === "rescaled") {
    // Of the tickers with listed factors, how many have the factor of their prices, or its inverse as volumes do.
    const asPrices = tally.factors.filter(({ ticker, steps }) => {
      const price = priceFactors.get(ticker) ?? Number.NaN;
      const own = steps[0]!.factor;
      return [own / price, own * price].some((ratio) => Math.abs(ratio - 1) < 1e-2);
    });
    Object.assign(evidence, { factors: tally.factors, as_prices: asPrices.length });
  }
  let message = kinds.map(([kind, its]) => `${extentText(its)} ${KINDS[kind][1](its)}`).join(", and ");
  if (features.length === 1) message = `${name}: ${message}`;
  else {
    const shown = features.slice(0, MAX_FEATURES);
    const listed = shown.join(", ") + (features.length > shown.length ? " and others" : "");
    message = `${features.length} features changed in the same way: ${listed}. For ${name}, ${message}`;
    Object.assign(evidence, { features: features.length, first_features: shown });
  }
  const others = kinds.slice(1).map(([other, its]) => [KINDS[other][0], extent(its)] as const);
  if (others.length > 0) Object.assign(evidence, { also: Object.fromEntries(others) });
  const place = {
    ...(features.length === 1 ? { feature: name! } : {}),
    ...onlyTicker(tally.tickers, tally.examples),
  };
  return finding(KINDS[kind][0], { ...place, message, evidence });
}

/** Mean log-returns over the whole earlier history, to see whether the vanished tickers were losers; null without prices. */
export type PastReturns = { readonly return_vanished: number | null; readonly return_kept: number | null };

/**
 * The changes of the data-extraction blob. The histories contain only price dates, so a price that appeared or disappeared is a row.
 * @param returns of the tickers before they vanished, and of the others.
 */
export function priceFindings(prices: HistoryComparison, returns: PastReturns): Finding[] {
  const found = [...(prices.features.get("price") ?? [])].map(([kind, tally]) => {
    const only = onlyTicker(tally.tickers, tally.examples);
    const evidence = { ...extent(tally), ...size(tally) };
    if (kind !== "rescaled") {
      const message = `${extentText(tally)} of the prices changed ${sizeText(tally)}; the labels changed with them`;
      return finding("price_rewritten", { ...only, message, evidence });
    }
    const message = `The prices of ${counted(tally.tickers, "ticker")} ${factorText(tally)}, as for a split or a dividend: harmless for labels and for features that are ratios of prices`;
    return finding("price_rescaled", { ...only, message, evidence: { ...evidence, factors: tally.factors } });
  });
  return [...tickerFindings("data_extractor", prices, returns), ...found, ...rowFindings("price", prices)];
}

/** Rows that tickers lost or gained: the codes of those that were added, came late or were lost, and what to say of each. */
const ROWS = {
  feature: {
    codes: ["feature_rows_added", "feature_arrived_late", "feature_rows_vanished"],
    added: (rows: string) => `The earlier feature blob lacked ${rows}`,
    lost: (rows: string) => `The earlier feature blob had, and today's lacks, ${rows}`,
    unit: "row",
  },
  price: {
    codes: ["price_back_filled", "price_arrived_late", "price_vanished"],
    added: (rows: string) => `${rows} were missing in the earlier blob`,
    lost: (rows: string) => `${rows} of the earlier blob are missing today`,
    unit: "price",
  },
} as const;

function rowFindings(kind: keyof typeof ROWS, comparison: HistoryComparison): Finding[] {
  const { codes, unit, ...texts } = ROWS[kind];
  return (["added", "lost"] as const).flatMap((change) => {
    const { rows, tickers, days, isLate } = comparison.rows(change);
    if (rows === 0) return [];
    const code = change === "lost" ? codes[2] : isLate ? codes[1] : codes[0];
    const extent = `${counted(rows, unit)} of ${counted(tickers.length, "ticker")} ${datesText(days)}`;
    const message = texts[change](extent);
    const examples = tickers.slice(0, MAX_EXAMPLES);
    const evidence = { rows, tickers: tickers.length, ...datesOf(days), examples };
    return [finding(code, { ...onlyTicker(tickers.length, tickers), message, evidence })];
  });
}

const BLOB_NAMES = { feature: "feature blob", data_extractor: "data-extraction blob" } as const;

/** Tickers that only one of the blobs has. */
function tickerFindings(
  blob: keyof typeof BLOB_NAMES,
  { vanished, appeared, tickers }: HistoryComparison,
  returns?: PastReturns,
): Finding[] {
  const name = BLOB_NAMES[blob];
  const kinds = [
    ["ticker_vanished", vanished, [`the earlier ${name}`, "is", "are", "not in today's"], returns],
    ["ticker_appeared", appeared, [`today's ${name}`, "was", "were", "not in the earlier one"], {}],
  ] as const;
  return kinds.flatMap(([code, names, [here, is, are, elsewhere], past]) => {
    if (names.length === 0) return [];
    const examples = names.slice(0, MAX_TICKERS);
    const listed = examples.join(", ") + (names.length > MAX_TICKERS ? " and others" : "");
    const message = `${counted(names.length, "ticker")} of ${here} ${names.length === 1 ? is : are} ${elsewhere}: ${listed}`;
    const evidence = { blob, tickers: names.length, of: tickers + vanished.length, examples, ...past };
    return [finding(code, { ...onlyTicker(names.length, names), message, evidence })];
  });
}

function onlyTicker(count: number, names: readonly string[]) {
  return count === 1 ? { ticker: names[0] } : {};
}

function extent({ values, tickers, days, examples, reach }: ChangeTally) {
  return { values, tickers, ...datesOf(days), reach_rows: reach, examples };
}

/** The extent in words, such as `12 values of 2 tickers on 6 dates from 2023-01-02 to 2023-01-09`. */
function extentText({ values, tickers, days }: ChangeTally): string {
  return `${counted(values, "value")} of ${counted(tickers, "ticker")} ${datesText(days)}`;
}

function datesOf(days: ReadonlySet<Day>) {
  return { dates: days.size, first: formatDay(Math.min(...days)), last: formatDay(Math.max(...days)) };
}

function datesText(days: ReadonlySet<Day>): string {
  const { dates, first, last } = datesOf(days);
  return dates === 1 ? `on ${first}` : `on ${dates} dates from ${first} to ${last}`;
}

/** By how much numbers changed: absolute, relative to the earlier value, and in deviations of their column. */
function size({ values, absolute, deviations, largest }: ChangeTally) {
  const figures = {
    mean_absolute: finiteOrNull(absolute / values),
    mean_deviations: finiteOrNull(deviations / values),
  };
  if (largest === undefined) return { ...figures, largest: null };
  const { ticker, day, before, after } = largest;
  const change = Math.abs(after - before);
  const sizes = {
    absolute: finiteOrNull(change),
    relative: finiteOrNull(change / Math.abs(before)),
    deviations: finiteOrNull(largest.deviations),
  };
  return { ...figures, largest: { ticker, date: formatDay(day), before, after, ...sizes } };
}

/** The size in words, such as `by 0.12 deviations on average and 3.4 at most`. */
function sizeText({ values, deviations, absolute, largest }: ChangeTally): string {
  const [average, most] = [deviations / values, largest?.deviations ?? Number.NaN];
  if (!Number.isFinite(average) || !Number.isFinite(most)) return `by ${short(absolute / values)} on average`;
  return `by ${short(average)} deviations on average and ${short(most)} at most`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
