import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { Finding } from "../check.ts";
import { type FindingCode, finding } from "../findings.ts";
import type { PooledSuspect } from "./pooled/pooled-suspects.ts";
import type { PooledTest } from "./pooled/pooled-tests.ts";
import { deviationsFromZero, type RankCorrelation } from "./significance.ts";
import { groupSuspects, type Suspect } from "./suspects.ts";

const TICKERS_SHOWN = 10;

/** Codes for which a person can acknowledge a feature, because correlation alone cannot tell a leak from skill. */
const ACCEPTABLE: readonly FindingCode[] = ["implausible_skill", "knows_later_return"];

/** Codes of correlations with returns. Several of them for one feature have one cause. The most severe come first. */
const OF_RETURNS: readonly FindingCode[] = [
  "equals_later_value",
  "knows_next_price",
  "knows_later_return",
  "implausible_skill",
];

/**
 * One finding for each feature and cause, with the ticker that shows it most clearly and what the tickers show together. If more than
 * a few features have the same code, it is one finding for all of them.
 * @param needed deviations that a correlation of one ticker must exceed.
 * @param accepted features whose skill is known to be honest.
 */
export function foresightFindings(
  suspects: readonly Suspect[],
  pooled: readonly PooledSuspect[],
  needed: number,
  accepted: ReadonlySet<string>,
): Finding[] {
  const causes = new Map<string, Cause>();
  const causeOf = (code: FindingCode, feature: string): Cause => {
    const key = JSON.stringify([OF_RETURNS.includes(code) ? "returns" : code, feature]);
    const cause = causes.get(key) ?? { feature, groups: [], pooled: [] };
    causes.set(key, cause);
    return cause;
  };
  for (const group of groupSuspects(suspects)) causeOf(group[0]!.code, group[0]!.feature).groups.push(group);
  for (const one of pooled) causeOf(one.code, one.feature).pooled.push(one);
  return merged([...causes.values()].map((cause) => causeFinding(cause, needed, accepted)));
}

/** The suspicions about one feature, by code, and what the tickers show together. */
interface Cause {
  readonly feature: string;
  readonly groups: Suspect[][];
  readonly pooled: PooledSuspect[];
}

function causeFinding(cause: Cause, needed: number, accepted: ReadonlySet<string>): Finding {
  const { feature, groups } = cause;
  const ordered = groups.toSorted((a, b) => rank(a[0]!.code) - rank(b[0]!.code));
  const [together] = cause.pooled.toSorted((a, b) => rank(a.code) - rank(b.code));
  const codes = [
    ...ordered.map(([first]) => first!.code),
    ...(together === undefined ? [] : [together.code]),
  ];
  const code = codes.reduce((a, b) => (rank(b) < rank(a) ? b : a));
  const group = ordered[0] ?? [];
  const isAccepted = ACCEPTABLE.includes(code) && accepted.has(feature);
  return finding(code, {
    feature,
    ...(group.length === 1 && together === undefined ? { ticker: group[0]!.ticker } : {}),
    ...severityOf(code, group),
    ...(isAccepted ? { severity: "note" as const, advice: "Acknowledged by `accept` (--accept)." } : {}),
    message: [...tickersText(feature, group), ...(together === undefined ? [] : [pooledText(together)])].join(
      " ",
    ),
    evidence: {
      ...(group.length === 0 ? {} : tickersEvidence(group, needed)),
      ...(ordered.length > 1 ? { also: ordered.slice(1).map(([first]) => first!.code) } : {}),
      ...(together === undefined ? {} : { pooled: pooledFigures(together) }),
    },
  });
}

/** A feature may honestly correlate with a later return, so this is not a certain leak. */
function severityOf(
  code: FindingCode,
  group: readonly Suspect[],
): Pick<Finding, "severity" | "advice"> | object {
  const isHonestLag =
    code === "knows_later_return" && group.every((one) => !("isWindow" in one) || one.isWindow !== true);
  if (!isHonestLag) return {};
  return {
    severity: "medium",
    advice:
      "An honest feature can lead returns by some dates: if this one does, name it in `accept` (--accept FEATURE). Real daily data has not shown a correlation this high, so first find out what the feature is made of.",
  };
}

function rank(code: FindingCode): number {
  return OF_RETURNS.indexOf(code);
}

function tickersText(feature: string, group: readonly Suspect[]): string[] {
  const [clearest] = group;
  if (clearest === undefined) return [];
  const others =
    group.length === 1 ? [] : [`The same holds for ${counted(group.length - 1, "other ticker")}.`];
  return [`${feature} of ${clearest.ticker} ${describedSuspect(clearest)}.`, ...others];
}

function tickersEvidence(group: readonly Suspect[], needed: number): AuditFacts {
  const [clearest] = group;
  return {
    tickers: group.length,
    first_tickers: group.slice(0, TICKERS_SHOWN).map((one) => one.ticker),
    clearest: { ticker: clearest!.ticker, ...figuresOf(clearest!) },
    ...("shown" in clearest! ? { needed_deviations: needed } : {}),
  };
}

/** Up to this many features of a code get separate findings. */
const MAX_SEPARATE = 3;

const FEATURES_SHOWN = 10;

/**
 * Merges findings of one code and severity if they concern more than MAX_SEPARATE features: a blob that is dated a day early, or
 * omitted rows, show in each feature and are one cause.
 * @param findings one per feature; within a code, the clearest first.
 */
function merged(findings: readonly Finding[]): Finding[] {
  const groups = Map.groupBy(findings, ({ code, severity }) => `${severity} ${code}`);
  return [...groups.values()].flatMap((group) => (group.length <= MAX_SEPARATE ? group : [joined(group)]));
}

function joined(group: readonly Finding[]): Finding {
  const [first, ...others] = group;
  const { feature: _, ticker: __, ...rest } = first!;
  const names = group.map(({ feature }) => feature!);
  const shown = names.slice(0, FEATURES_SHOWN);
  const listed = names.length > shown.length ? `${shown.join(", ")} and others` : shown.join(", ");
  return {
    ...rest,
    message: `${counted(names.length, "feature")} show the same: ${listed}. ${first!.message}`,
    evidence: {
      features: names.length,
      first_features: shown,
      first: { feature: shown[0]!, ...first!.evidence },
      others: others
        .slice(0, FEATURES_SHOWN - 1)
        .map(({ feature, evidence }) => ({ feature: feature!, ...evidence })),
    },
  };
}

type CorrelatedSuspect = Extract<Suspect, { readonly correlations: unknown }>;

/** What is suspected of one feature of one ticker, in words. */
function describedSuspect(suspect: Suspect): string {
  switch (suspect.code) {
    case "knows_next_price":
      return `knows the next price: ${correlationsText(suspect.correlations)}`;
    case "implausible_skill":
      return `correlates with the next return more than known forecasts do: ${correlationsText(suspect.correlations)}`;
    case "knows_later_return":
      return laterText(suspect);
    case "missing_predicts_label":
      return `is missing on ${counted(suspect.missingness.missing, "date")} whose next returns differ from the others: P(higher) - P(lower) is ${suspect.missingness.effect.toFixed(2)}`;
    case "equals_later_value":
      return `is ${suspect.copy.of.replaceAll("_", " ")} of ${counted(suspect.copy.lag, "price date")} later on each of ${counted(suspect.copy.n, "row")}, times ${suspect.copy.scale} plus ${suspect.copy.offset}`;
    case "filled_from_later":
      return `has ${counted(suspect.unpriced.values, "value")} on dates without a price, ${suspect.unpriced.fromLater} of them filled from the next date with one`;
    case "whole_sample_standardised":
      return `${suspect.scaled} over all its ${counted(suspect.n, "value")}, but not over the earlier ones alone`;
  }
}

function laterText({ correlations, shown, isWindow }: CorrelatedSuspect): string {
  const { later, laterSize } = correlations;
  if (shown === laterSize) {
    return `knows the size of a later return: its change has a correlation of ${c(shown)} with the size of the return ${laterSize.lag} price dates later, as in a centred volatility`;
  }
  const sentence = `its change has a correlation of ${c(shown)} with the return ${later!.lag} price dates later`;
  if (isWindow === true) return `knows a later return: ${sentence}`;
  return `correlates with a later return more than known forecasts do: ${sentence}, but nothing else indicates a window that extends past its date`;
}

function correlationsText({
  level,
  change,
  size,
}: {
  level?: RankCorrelation | undefined;
  change?: RankCorrelation | undefined;
  size?: RankCorrelation | undefined;
}): string {
  const parts = [
    level === undefined ? [] : [`its correlation with the next return is ${c(level)}`],
    change === undefined ? [] : [`the correlation of its change with the next return is ${c(change)}`],
    size === undefined
      ? []
      : [`the correlation of its change with the size of the next return is ${c(size)}`],
  ];
  return parts.flat().join(", ");
}

const c = (one: RankCorrelation) => one.c.toFixed(2);

/** The figures behind a suspicion; a correlation comes with its number of deviations from 0. */
function figuresOf(suspect: Suspect): AuditFacts {
  if ("correlations" in suspect) {
    const { level, change, size, later, laterSize } = suspect.correlations;
    return {
      level: figures(level),
      change: figures(change),
      size: figures(size),
      later: later === undefined ? null : { ...figures(later), signs: { ...later.signs } },
      later_size: figures(laterSize),
    };
  }
  if ("missingness" in suspect)
    return { ...suspect.missingness, deviations: deviationsFromZero(suspect.missingness) };
  if ("copy" in suspect) return { ...suspect.copy };
  return "unpriced" in suspect ? { ...suspect.unpriced } : { values: suspect.n };
}

function figures(one: RankCorrelation | undefined): AuditFacts | null {
  return one === undefined ? null : { ...one, deviations: deviationsFromZero(one) };
}

/** What the tickers show together, as a sentence. */
function pooledText({ feature, shown }: PooledSuspect): string {
  const what = shown.side === "change" ? `the change of ${feature}` : feature;
  const { dates } = shown;
  const t = Number.isFinite(shown.t) ? shown.t.toFixed(1) : "infinite";
  switch (shown.form) {
    case "over_time":
      return `Over all tickers, ${what} has a correlation of ${figure(shown)} with the next return (t ${t} over ${dates} dates); the limit for an honest feature is ${limit(shown)}.`;
    case "across_tickers":
      return `Across tickers, ${what} has a mean correlation of ${figure(shown)} with the next return (t ${t} over ${dates} dates); the limit for an honest feature is ${limit(shown)}.`;
    case "ordered_dates":
      return `On ${(100 * Math.abs(shown.c)).toFixed(1)} % of ${dates} dates, ${what} orders the tickers nearly as their next returns do, and on hardly any date in the opposite order: some of its values may be dated early.`;
    case "next_return":
      return `Over all tickers, the next return after a missing ${feature} differs from the others by ${figure(shown)} standard deviations (t ${t} over ${dates} dates).`;
    case "next_size":
      return `Over all tickers, gaps of ${feature} depend more on the size of the next return than on the size of the last one: by ${figure(shown)} standard deviations (t ${t} over ${dates} dates). Later data may have decided which rows are left out.`;
  }
}

const figure = ({ c }: PooledTest) => c.toFixed(2);
const limit = ({ limit }: PooledTest) => limit.toFixed(2);

/** All tests of the feature over all tickers. */
function pooledFigures({ pooled }: PooledSuspect): AuditFacts[] {
  return pooled.map(({ side, form, c, t, dates, limit }) => ({
    side,
    form,
    c,
    t: Number.isFinite(t) ? t : null,
    dates,
    limit,
  }));
}
