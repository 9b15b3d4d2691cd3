import { RETURN_LIMIT, type ReturnCorrelation } from "./last-returns.ts";
import { LATER_LIMIT } from "./later-returns.ts";
import type { MissingnessTest } from "./missing-values.ts";
import type { ReturnCorrelations } from "./return-correlations.ts";
import { deviationsFromZero, type RankCorrelation } from "./significance.ts";

/** |c| of a change with the size of the next return: volatility clusters, so honest features reach more here. */
const SIZE_LIMIT = 0.25;

/** |c| of a value with the next return that no forecast reaches. */
const CERTAIN = 0.9;

/** A change that exceeds its own level by this factor contains what the last row did not. */
export const CHANGE_OVER_LEVEL = 1.2;

/** A partial correlation that is within RETURN_LIMIT and below this share of the whole one shows only a reversal. */
const REVERSAL = 0.9;

/** |P(higher) - P(lower)| of returns after a missing value. */
const MISSING_LIMIT = 0.2;

export type CorrelationCode = "knows_next_price" | "implausible_skill" | "knows_later_return";

/** The suspicion about one feature of one ticker, and the correlation that shows it most clearly. */
export interface Suspicion {
  readonly code: CorrelationCode;
  readonly shown: RankCorrelation;
  /** For a later return: whether it looks like a window that reaches past its date, or may be an honest lag. */
  readonly isWindow?: boolean;
}

/** The correlations that are judged. */
export type JudgedCorrelations = Omit<ReturnCorrelations, "tests">;

/** A correlation beyond its limit that noise does not explain. */
function isFound(one: RankCorrelation | undefined, limit: number, needed: number): one is RankCorrelation {
  return one !== undefined && Math.abs(one.c) > limit && deviationsFromZero(one) > needed;
}

/** The same with the next return, unless the ticker's own last returns explain it. */
function isFoundBesideReturns(one: ReturnCorrelation | undefined, needed: number): one is ReturnCorrelation {
  if (!isFound(one, RETURN_LIMIT, needed)) return false;
  const { c, partial = c } = one;
  return Math.abs(partial) > RETURN_LIMIT || Math.abs(partial) >= REVERSAL * Math.abs(c);
}

/**
 * Judges the correlations of one feature of one ticker: the most severe suspicion, at most one.
 * @param needed deviations that a finding must exceed; it grows with the number of tests.
 */
export function suspicionOf(
  { level, change, size, later, laterSize }: JudgedCorrelations,
  needed: number,
): Suspicion | undefined {
  const found = [level, change].filter((one) => isFoundBesideReturns(one, needed));
  const isSize = isFound(size, SIZE_LIMIT, needed);
  const least = CHANGE_OVER_LEVEL * Math.abs(level?.c ?? 0);
  const isCertain = found.some((one) => one === level && Math.abs(one.c) > CERTAIN);
  const isFresh = found.some((one) => one === change && Math.abs(one.c) > least);
  if (isCertain || isFresh || isSize)
    return { code: "knows_next_price", shown: strongest([...found, ...(isSize ? [size] : [])]) };
  const windows = [
    ...(isFound(later, LATER_LIMIT, needed) ? [{ shown: later, isWindow: isWindow(later) }] : []),
    ...(isFound(laterSize, SIZE_LIMIT, needed) && isBeyondNext(laterSize, size)
      ? [{ shown: laterSize, isWindow: true }]
      : []),
  ];
  const window = windows.find((one) => one.isWindow) ?? windows[0];
  if (window !== undefined) return { code: "knows_later_return", ...window };
  return found.length === 0 ? undefined : { code: "implausible_skill", shown: strongest(found) };
}

/**
 * Whether a change that correlates with a later return comes from a window, or from a copy of the return itself. If returns honestly
 * follow a feature after some dates, its value correlates with the later return at least as much, and there is no correlation
 * elsewhere.
 */
function isWindow({ c, signs: { value, other } }: NonNullable<ReturnCorrelations["later"]>): boolean {
  const level = Math.abs(value ?? 0);
  const isElsewhere = Math.abs(other.c) > Math.max(LATER_LIMIT, Math.abs(c) / 2);
  return level > CERTAIN || (Math.abs(c) > CHANGE_OVER_LEVEL * level && isElsewhere);
}

/** Volatility clusters, so an honest change correlates with sizes of later returns, but with none as much as with the next one. */
function isBeyondNext(laterSize: RankCorrelation, size: RankCorrelation | undefined): boolean {
  return Math.abs(laterSize.c) > CHANGE_OVER_LEVEL * Math.abs(size?.c ?? 0);
}

export function isSuspectMissingness(test: MissingnessTest | undefined, needed: number): boolean {
  return test !== undefined && Math.abs(test.effect) > MISSING_LIMIT && deviationsFromZero(test) > needed;
}

function strongest(found: readonly RankCorrelation[]): RankCorrelation {
  return found.reduce((a, b) => (deviationsFromZero(b) > deviationsFromZero(a) ? b : a));
}
