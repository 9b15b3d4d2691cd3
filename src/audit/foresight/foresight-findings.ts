import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { Finding } from "../check.ts";
import { finding } from "../findings.ts";
import { deviationsFromZero, type RankCorrelation } from "./significance.ts";
import { groupSuspects, type Suspect } from "./suspects.ts";

const TICKERS_SHOWN = 10;

/**
 * One finding for each code and feature, with the ticker that shows it most clearly.
 * @param needed deviations that a correlation has to exceed.
 * @param accepted features whose implausible skill is a note.
 */
export function foresightFindings(
  suspects: readonly Suspect[],
  needed: number,
  accepted: ReadonlySet<string>,
): Finding[] {
  return groupSuspects(suspects).map((group) => {
    const [clearest] = group;
    const { code, feature, ticker } = clearest!;
    const others = group.length === 1 ? "" : ` So it is on ${counted(group.length - 1, "other ticker")}.`;
    const isAccepted = code === "implausible_skill" && accepted.has(feature);
    return finding(code, {
      feature,
      ...(group.length === 1 ? { ticker } : {}),
      ...(isAccepted ? { severity: "note" as const, advice: "Acknowledged by `accept` (--accept)." } : {}),
      message: `${feature} of ${ticker} ${described(clearest!)}.${others}`,
      evidence: {
        tickers: group.length,
        first_tickers: group.slice(0, TICKERS_SHOWN).map((one) => one.ticker),
        clearest: { ticker, ...figuresOf(clearest!) },
        ...("shown" in clearest! ? { needed_deviations: needed } : {}),
      },
    });
  });
}

function described(suspect: Suspect): string {
  switch (suspect.code) {
    case "knows_next_price":
      return `knows the next price: ${correlationsText(suspect.correlations)}`;
    case "implausible_skill":
      return `goes with the next return more than forecasts do: ${correlationsText(suspect.correlations)}`;
    case "knows_later_return": {
      const { later } = suspect.correlations;
      return `knows a later return: its change correlates by ${c(later!)} with the return ${later!.lag} price dates later`;
    }
    case "missing_predicts_label":
      return `is missing on ${counted(suspect.missingness.missing, "date")} whose next returns differ: they are higher than the others' less often than lower by ${(-suspect.missingness.effect).toFixed(2)}`;
    case "equals_later_value":
      return `is ${suspect.copy.of.replaceAll("_", " ")} of ${counted(suspect.copy.lag, "price date")} later on each of ${counted(suspect.copy.n, "row")}, times ${suspect.copy.scale} plus ${suspect.copy.offset}`;
    case "filled_from_later":
      return `has ${counted(suspect.unpriced.values, "value")} on dates without a price, ${suspect.unpriced.fromLater} of them filled from the next date with one`;
    case "whole_sample_standardised":
      return `has mean 0 and deviation 1 over all its ${counted(suspect.n, "value")}, and had not before their end`;
  }
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
    level === undefined ? [] : [`it correlates with the next return by ${c(level)}`],
    change === undefined ? [] : [`its change by ${c(change)}`],
    size === undefined ? [] : [`its change with the size of that return by ${c(size)}`],
  ];
  return parts.flat().join(", ");
}

const c = (one: RankCorrelation) => one.c.toFixed(2);

/** The figures behind a suspicion; a correlation comes with the deviations that it lies from 0. */
function figuresOf(suspect: Suspect): AuditFacts {
  if ("correlations" in suspect) {
    const { level, change, size, later } = suspect.correlations;
    return { level: figures(level), change: figures(change), size: figures(size), later: figures(later) };
  }
  if ("missingness" in suspect)
    return { ...suspect.missingness, deviations: deviationsFromZero(suspect.missingness) };
  if ("copy" in suspect) return { ...suspect.copy };
  return "unpriced" in suspect ? { ...suspect.unpriced } : { values: suspect.n };
}

function figures(one: RankCorrelation | undefined): AuditFacts | null {
  return one === undefined ? null : { ...one, deviations: deviationsFromZero(one) };
}
