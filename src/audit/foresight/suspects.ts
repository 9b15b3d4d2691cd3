import type { LaterCopy } from "./equal-values.ts";
import type { MissingnessTest, UnpricedValues } from "./missing-values.ts";
import { PooledTests } from "./pooled/pooled-tests.ts";
import {
  LATER_LIMIT,
  RETURN_LIMIT,
  type ReturnCorrelation,
  type ReturnCorrelations,
} from "./return-correlations.ts";
import { deviationsFromZero, neededDeviations, type RankCorrelation } from "./significance.ts";

/** A suspected feature of one ticker, with its measurements. */
export type Suspect = { readonly ticker: string; readonly feature: string } & (
  | (Suspicion & { readonly correlations: JudgedCorrelations })
  | {
      readonly code: "missing_predicts_label";
      readonly shown: RankCorrelation;
      readonly missingness: MissingnessTest;
    }
  | { readonly code: "equals_later_value"; readonly copy: LaterCopy }
  | { readonly code: "filled_from_later"; readonly unpriced: UnpricedValues }
  | { readonly code: "whole_sample_standardised"; readonly n: number; readonly scaled: string }
);

/** Maximum number of pairs of ticker and feature that are kept; the rest are only counted. About 10 MB. */
const MAX_KEPT = 20_000;

/**
 * Collects suspicions ticker by ticker. The deviations that a correlation needs grow with the number of tests, so the final
 * suspicions are known only after all tickers; those that already fall short are not kept.
 */
export class Suspects {
  #tests = 0;
  #dropped = 0;
  #needed = neededDeviations(1);
  readonly #kept: Suspect[] = [];
  /** Over all tickers together. */
  readonly pooled = new PooledTests();

  /** How many statistical tests were made. */
  get tests(): number {
    return this.#tests;
  }

  /** The number of suspects that were not kept because there were too many. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The deviations that the tests so far require. */
  get needed(): number {
    return this.#needed;
  }

  /** Counts the tests of a ticker, before its suspects are added. */
  countTests(tests: number): void {
    this.#tests += tests;
    this.#needed = neededDeviations(this.#tests);
  }

  addCorrelations(ticker: string, feature: string, correlations: JudgedCorrelations): void {
    const suspicion = suspicionOf(correlations, this.#needed);
    if (suspicion !== undefined) this.add({ ticker, feature, ...suspicion, correlations });
  }

  addMissingness(ticker: string, feature: string, missingness: MissingnessTest | undefined): void {
    if (missingness === undefined || !isSuspectMissingness(missingness, this.#needed)) return;
    this.add({ ticker, feature, code: "missing_predicts_label", shown: missingness, missingness });
  }

  add(suspect: Suspect): void {
    if (this.#kept.length < MAX_KEPT) this.#kept.push(suspect);
    else this.#dropped++;
  }

  /** The suspects that remain after all tests, judged again: the most severe suspicion of a feature may have been dropped. */
  standing(): Suspect[] {
    return this.#kept.flatMap((suspect): Suspect[] => {
      if ("missingness" in suspect)
        return isSuspectMissingness(suspect.missingness, this.#needed) ? [suspect] : [];
      if (!("correlations" in suspect)) return [suspect];
      const suspicion = suspicionOf(suspect.correlations, this.#needed);
      return suspicion === undefined ? [] : [{ ...suspect, ...suspicion }];
    });
  }
}

/** Suspects of one code and feature, the clearest first. */
export function groupSuspects(suspects: readonly Suspect[]): Suspect[][] {
  const groups = new Map<string, Suspect[]>();
  for (const suspect of suspects) {
    const key = JSON.stringify([suspect.code, suspect.feature]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [suspect]);
    else group.push(suspect);
  }
  return [...groups.values()].map((group) => group.sort((a, b) => clarity(b) - clarity(a)));
}

function clarity(suspect: Suspect): number {
  return "shown" in suspect ? deviationsFromZero(suspect.shown) : 0;
}

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

type CorrelationCode = "knows_next_price" | "implausible_skill" | "knows_later_return";

/** The suspicion about one feature of one ticker, and the correlation that shows it most clearly. */
interface Suspicion {
  readonly code: CorrelationCode;
  readonly shown: RankCorrelation;
  /** For a later return: whether it looks like a window that reaches past its date, or may be an honest lag. */
  readonly isWindow?: boolean;
}

/** The correlations that are judged. */
type JudgedCorrelations = Omit<ReturnCorrelations, "tests">;

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

function isSuspectMissingness(test: MissingnessTest | undefined, needed: number): boolean {
  return test !== undefined && Math.abs(test.effect) > MISSING_LIMIT && deviationsFromZero(test) > needed;
}

function strongest(found: readonly RankCorrelation[]): RankCorrelation {
  return found.reduce((a, b) => (deviationsFromZero(b) > deviationsFromZero(a) ? b : a));
}
