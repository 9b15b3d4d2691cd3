import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { Finding } from "../check.ts";
import { type FindingCode, finding } from "../findings.ts";
import type { PooledSuspect } from "./pooled/pooled-suspects.ts";
import { pooledFigures, pooledText } from "./pooled/pooled-text.ts";
import { describedSuspect, figuresOf } from "./suspect-text.ts";
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
      "Returns may follow this feature honestly, some dates later: then name it in `accept` (--accept FEATURE). Real daily data has not shown a correlation this high, so first find out what the feature is made of.",
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
