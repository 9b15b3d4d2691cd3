import type { LaterCopy } from "./equal-values.ts";
import type { MissingnessTest } from "./missing-values.ts";
import { PooledTests } from "./pooled/pooled-tests.ts";
import { deviationsFromZero, neededDeviations, type RankCorrelation } from "./significance.ts";
import { isSuspectMissingness, type JudgedCorrelations, type Suspicion, suspicionOf } from "./suspicion.ts";
import type { UnpricedValues } from "./unpriced-values.ts";

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
