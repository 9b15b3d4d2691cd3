import { LATER_LIMIT } from "./later-returns.ts";
import type { MissingnessTest } from "./missing-values.ts";
import type { ReturnCorrelations } from "./return-correlations.ts";
import { deviationsFromZero, type RankCorrelation } from "./significance.ts";

/** |c| of a feature or its change with the next return; daily information coefficients of funds lie below 0.1. */
const RETURN_LIMIT = 0.2;

/** |c| of a change with the size of the next return: volatility clusters, so honest features reach more here. */
const SIZE_LIMIT = 0.25;

/** |c| of a value with the next return that no forecast reaches. */
const CERTAIN = 0.9;

/** A change that beats its own level by this factor holds what the last row did not. */
const CHANGE_OVER_LEVEL = 1.2;

/** |P(higher) - P(lower)| of returns after a missing value. */
const MISSING_LIMIT = 0.2;

export type CorrelationCode = "knows_next_price" | "implausible_skill" | "knows_later_return";

/** What one feature of one ticker is suspected of, and the correlation that shows it most clearly. */
export interface Suspicion {
  readonly code: CorrelationCode;
  readonly shown: RankCorrelation;
}

/** A correlation beyond its limit that noise does not give. */
function isFound(one: RankCorrelation | undefined, limit: number, needed: number): one is RankCorrelation {
  return one !== undefined && Math.abs(one.c) > limit && deviationsFromZero(one) > needed;
}

/**
 * Judges the correlations of one feature of one ticker: the gravest suspicion, at most one.
 * @param needed deviations that a finding has to exceed; it grows with the number of tests.
 */
export function suspicionOf(
  { level, change, size, later }: Pick<ReturnCorrelations, "level" | "change" | "size" | "later">,
  needed: number,
): Suspicion | undefined {
  const found = [
    ...(isFound(level, RETURN_LIMIT, needed) ? [level] : []),
    ...(isFound(change, RETURN_LIMIT, needed) ? [change] : []),
  ];
  const isSize = isFound(size, SIZE_LIMIT, needed);
  const isCertain = isFound(level, CERTAIN, needed);
  const isFresh =
    isFound(change, RETURN_LIMIT, needed) && Math.abs(change.c) > CHANGE_OVER_LEVEL * Math.abs(level?.c ?? 0);
  if (isCertain || isFresh || isSize)
    return { code: "knows_next_price", shown: strongest([...found, ...(isSize ? [size] : [])]) };
  if (isFound(later, LATER_LIMIT, needed)) return { code: "knows_later_return", shown: later };
  return found.length === 0 ? undefined : { code: "implausible_skill", shown: strongest(found) };
}

export function isSuspectMissingness(test: MissingnessTest | undefined, needed: number): boolean {
  return test !== undefined && Math.abs(test.effect) > MISSING_LIMIT && deviationsFromZero(test) > needed;
}

function strongest(found: readonly RankCorrelation[]): RankCorrelation {
  return found.reduce((a, b) => (deviationsFromZero(b) > deviationsFromZero(a) ? b : a));
}
