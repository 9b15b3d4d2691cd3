import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { deviationsFromZero, type RankCorrelation } from "./significance.ts";
import type { Suspect } from "./suspects.ts";

type CorrelatedSuspect = Extract<Suspect, { readonly correlations: unknown }>;

/** What is suspected of one feature of one ticker, in words. */
export function describedSuspect(suspect: Suspect): string {
  switch (suspect.code) {
    case "knows_next_price":
      return `knows the next price: ${correlationsText(suspect.correlations)}`;
    case "implausible_skill":
      return `goes with the next return more than forecasts do: ${correlationsText(suspect.correlations)}`;
    case "knows_later_return":
      return laterText(suspect);
    case "missing_predicts_label":
      return `is missing on ${counted(suspect.missingness.missing, "date")} whose next returns differ: they are higher than the others' less often than lower by ${(-suspect.missingness.effect).toFixed(2)}`;
    case "equals_later_value":
      return `is ${suspect.copy.of.replaceAll("_", " ")} of ${counted(suspect.copy.lag, "price date")} later on each of ${counted(suspect.copy.n, "row")}, times ${suspect.copy.scale} plus ${suspect.copy.offset}`;
    case "filled_from_later":
      return `has ${counted(suspect.unpriced.values, "value")} on dates without a price, ${suspect.unpriced.fromLater} of them filled from the next date with one`;
    case "whole_sample_standardised":
      return `has ${suspect.scaled} over all its ${counted(suspect.n, "value")}, and had not before their end`;
  }
}

function laterText({ correlations, shown, isWindow }: CorrelatedSuspect): string {
  const { later, laterSize } = correlations;
  if (shown === laterSize) {
    return `knows the size of a later return: its change correlates by ${c(shown)} with that of the return ${laterSize.lag} price dates later, as in a centred volatility`;
  }
  const sentence = `its change correlates by ${c(shown)} with the return ${later!.lag} price dates later`;
  if (isWindow === true) return `knows a later return: ${sentence}`;
  return `goes with a later return more than forecasts do: ${sentence}, and nothing else shows a window that reaches past its date`;
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

/** The figures behind a suspicion; a correlation comes with its number of deviations from 0. */
export function figuresOf(suspect: Suspect): AuditFacts {
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
