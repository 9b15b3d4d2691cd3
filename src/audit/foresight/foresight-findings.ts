import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { Finding } from "../check.ts";
import { type FindingCode, finding } from "../findings.ts";
import type { PooledSuspect } from "./pooled-tests.ts";
import { deviationsFromZero, type RankCorrelation } from "./rank-correlation.ts";

export interface Suspicion {
  readonly code: FindingCode;
  /** What follows the names of the feature and its ticker. */
  readonly text: string;
  readonly figures: AuditFacts;
  /** The correlation that shows it most clearly; absent if no chance explains the sign. */
  readonly shown?: RankCorrelation;
  /** Whether an honest feature that leads returns by some dates would look the same. */
  readonly isHonestLag?: boolean;
}

export type Suspect = Suspicion & { readonly ticker: string; readonly feature: string };

export interface Measured {
  readonly tests: number;
  /** @param needed deviations that a correlation must exceed. */
  judge(needed: number): Suspicion | undefined;
}

/** Codes of correlations with returns. Several of them for one feature have one cause. The most severe come first. */
const OF_RETURNS: readonly FindingCode[] = [
  "equals_later_value",
  "knows_next_price",
  "knows_later_return",
  "implausible_skill",
];

/** Codes for which a person can acknowledge a feature, because correlation alone cannot tell a leak from skill. */
const ACCEPTABLE: readonly FindingCode[] = ["implausible_skill", "knows_later_return"];

const TICKERS_SHOWN = 10;
const FEATURES_SHOWN = 10;

/** Up to this many features of a code get separate findings. */
const MAX_SEPARATE = 3;

/**
 * One finding for each feature and cause, with the ticker that shows it most clearly and what the tickers show together. If more than
 * MAX_SEPARATE features have the same code and severity, it is one finding for all of them: a blob that is dated a day early, or omitted
 * rows, show in each feature and are one cause.
 * @param needed deviations that a correlation of one ticker must exceed.
 * @param accepted features whose skill is known to be honest.
 */
export function foresightFindings(
  suspects: readonly Suspect[],
  pooled: readonly PooledSuspect[],
  needed: number,
  accepted: ReadonlySet<string>,
): Finding[] {
  const causeOf = ({ code, feature }: Suspect | PooledSuspect) =>
    JSON.stringify([OF_RETURNS.includes(code) ? "returns" : code, feature]);
  const causes = Map.groupBy([...suspects, ...pooled], causeOf);
  const findings = [...causes.values()].map((cause) => causeFinding(cause, needed, accepted));
  const alike = Map.groupBy(findings, ({ code, severity }) => `${severity} ${code}`);
  return [...alike.values()].flatMap((group) => (group.length <= MAX_SEPARATE ? group : [joined(group)]));
}

function causeFinding(
  cause: readonly (Suspect | PooledSuspect)[],
  needed: number,
  accepted: ReadonlySet<string>,
): Finding {
  const ordered = cause.toSorted((a, b) => OF_RETURNS.indexOf(a.code) - OF_RETURNS.indexOf(b.code));
  const { code, feature } = ordered[0]!;
  const together = ordered.find((one): one is PooledSuspect => !("ticker" in one));
  const ofTickers = ordered.filter((one): one is Suspect => "ticker" in one);
  const [group = [], ...others] = Map.groupBy(ofTickers, (one) => one.code).values();
  const clarity = ({ shown }: Suspect) => (shown === undefined ? 0 : deviationsFromZero(shown));
  const [clearest, ...rest] = group.toSorted((a, b) => clarity(b) - clarity(a));
  const isAccepted = ACCEPTABLE.includes(code) && accepted.has(feature);
  return finding(code, {
    feature,
    ...(group.length === 1 && together === undefined ? { ticker: clearest!.ticker } : {}),
    ...(code === "knows_later_return" && group.every(({ isHonestLag }) => isHonestLag) ? HONEST_LAG : {}),
    ...(isAccepted ? { severity: "note" as const, advice: "Acknowledged by `accept` (--accept)." } : {}),
    message: [
      ...(clearest === undefined ? [] : [`${feature} of ${clearest.ticker} ${clearest.text}.`]),
      ...(rest.length === 0 ? [] : [`The same holds for ${counted(rest.length, "other ticker")}.`]),
      ...(together === undefined ? [] : [together.text]),
    ].join(" "),
    evidence: {
      ...(clearest === undefined
        ? {}
        : {
            tickers: group.length,
            first_tickers: [clearest, ...rest].slice(0, TICKERS_SHOWN).map(({ ticker }) => ticker),
            clearest: { ticker: clearest.ticker, ...clearest.figures },
            ...(clearest.shown === undefined ? {} : { needed_deviations: needed }),
          }),
      ...(others.length > 0 ? { also: others.map(([other]) => other!.code) } : {}),
      ...(together === undefined ? {} : { pooled: together.figures }),
    },
  });
}

const HONEST_LAG = {
  severity: "medium",
  advice:
    "An honest feature can lead returns by some dates: if this one does, name it in `accept` (--accept FEATURE). Real daily data has not shown a correlation this high, so first find out what the feature is made of.",
} as const;

/** @param group findings with one code and severity, for different features. */
function joined(group: readonly Finding[]): Finding {
  const { feature: _, ticker: __, ...first } = group[0]!;
  const shown = group
    .slice(0, FEATURES_SHOWN)
    .map(({ feature, evidence }) => ({ feature: feature!, evidence }));
  const names = shown.map(({ feature }) => feature);
  const [example, ...others] = shown.map(({ feature, evidence }) => ({ feature, ...evidence }));
  const listed = names.join(", ") + (group.length > names.length ? " and others" : "");
  return {
    ...first,
    message: `${counted(group.length, "feature")} show the same: ${listed}. ${first.message}`,
    evidence: { features: group.length, first_features: names, first: example!, others },
  };
}
