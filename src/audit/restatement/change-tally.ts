import type { Day } from "../../contract/market/dates.ts";
import { Change } from "./cell-changes.ts";
import { ChangedDays } from "./common-days.ts";
import type { ColumnChange } from "./compare-ticker.ts";
import type { FactorStep } from "./rescaling.ts";

/** How a value of a feature changed, in the terms of a finding. */
export type TallyKind = "rewritten" | "rescaled" | "standardised" | "filled" | "erased" | "late";

/** Tickers that a tally names. */
const MAX_EXAMPLES = 5;

export interface LargestChange {
  readonly ticker: string;
  readonly day: Day;
  readonly before: number;
  readonly after: number;
  /** Of the ticker's earlier values of this feature, ddof 0. */
  readonly deviation: number;
}

/** The changes of one kind of one feature, over all tickers. */
export class ChangeTally {
  values = 0;
  tickers = 0;
  readonly days = new ChangedDays();
  /** The first few tickers, in order of appearance. */
  readonly examples: string[] = [];
  /** The factors of the first few tickers, each with the day from which on it holds. */
  readonly factors: {
    readonly ticker: string;
    readonly steps: readonly (FactorStep & { readonly day: Day })[];
  }[] = [];
  /** Sum of |after - before| over numbers, and in deviations of their ticker's column. */
  absolute = 0;
  deviations = 0;
  largest: LargestChange | undefined;
  /** The largest number of rows from a ticker's first changed one to its last. */
  reach = 0;

  add(ticker: string, change: ColumnChange, kind: Change): void {
    this.tickers++;
    if (this.examples.length < MAX_EXAMPLES) this.examples.push(ticker);
    this.reach = Math.max(this.reach, change.reach);
    const { changes, days } = change;
    for (let i = 0; i < changes.length; i++) {
      if (changes[i] !== kind) continue;
      this.values++;
      this.days.add(days[i]!);
      if (kind === Change.rewritten) this.#addSize(ticker, change, i);
    }
    const { rewriting } = change;
    if (kind !== Change.rewritten || rewriting?.kind !== "rescaled") return;
    if (this.factors.length === MAX_EXAMPLES) return;
    this.factors.push({ ticker, steps: rewriting.steps.map((step) => ({ ...step, day: days[step.from]! })) });
  }

  #addSize(ticker: string, { before, after, days, deviation }: ColumnChange, i: number): void {
    const size = Math.abs(after[i]! - before[i]!);
    this.absolute += size;
    this.deviations += size / deviation;
    if (this.largest !== undefined && inDeviations(this.largest) >= size / deviation) return;
    this.largest = { ticker, day: days[i]!, before: before[i]!, after: after[i]!, deviation };
  }
}

function inDeviations({ before, after, deviation }: LargestChange): number {
  return Math.abs(after - before) / deviation;
}

/** The changes of one feature over all tickers that both blobs have. */
export class FeatureTally {
  readonly kinds = new Map<TallyKind, ChangeTally>();
  rounded = 0;
  warmUp = 0;

  add(ticker: string, change: ColumnChange): void {
    const counts = new Int32Array(Object.keys(Change).length);
    for (const kind of change.changes) counts[kind]!++;
    this.rounded += counts[Change.rounded]!;
    this.warmUp += counts[Change.warmUp]!;
    if (change.rewriting !== undefined)
      this.#kind(change.rewriting.kind).add(ticker, change, Change.rewritten);
    if (counts[Change.filled]! > 0) this.#kind("filled").add(ticker, change, Change.filled);
    if (counts[Change.late]! > 0) this.#kind("late").add(ticker, change, Change.late);
    if (counts[Change.erased]! > 0) this.#kind("erased").add(ticker, change, Change.erased);
  }

  #kind(kind: TallyKind): ChangeTally {
    let tally = this.kinds.get(kind);
    if (tally === undefined) {
      tally = new ChangeTally();
      this.kinds.set(kind, tally);
    }
    return tally;
  }
}

/** A change of one or several features with one cause. */
export interface ChangeCause {
  /** The most telling one first. */
  readonly features: readonly string[];
  /** Of the first feature; the most severe kind first. */
  readonly kinds: readonly [KindTally, ...KindTally[]];
}

type KindTally = readonly [TallyKind, ChangeTally];

/** Values that appeared and disappeared are one cause: rows that moved leave gaps in one place and fill them in another. */
const OF_GAPS: readonly TallyKind[] = ["filled", "erased"];

/**
 * Groups the changes of features that have one cause: those of one kind that concern the same tickers and dates. Filled gaps and
 * erased values count as one, even if the dates differ, since each feature has its first value on another date.
 */
export function changeCauses(features: ReadonlyMap<string, FeatureTally>): ChangeCause[] {
  const causes = new Map<string, { features: string[]; kinds: ChangeCause["kinds"] }>();
  for (const [name, { kinds }] of features) {
    for (const group of kindGroups(kinds)) {
      const key = JSON.stringify(keyOf(group[0]));
      const cause = causes.get(key);
      if (cause === undefined) causes.set(key, { features: [name], kinds: group });
      else if (gravity(group) <= gravity(cause.kinds)) cause.features.push(name);
      else causes.set(key, { features: [name, ...cause.features], kinds: group });
    }
  }
  return [...causes.values()];
}

function kindGroups(kinds: ReadonlyMap<TallyKind, ChangeTally>): ChangeCause["kinds"][] {
  const gaps = OF_GAPS.flatMap((kind): KindTally[] => {
    const tally = kinds.get(kind);
    return tally === undefined ? [] : [[kind, tally]];
  });
  const others = [...kinds]
    .filter(([kind]) => !OF_GAPS.includes(kind))
    .map((one): ChangeCause["kinds"] => [one]);
  const [first, ...rest] = gaps;
  return first === undefined ? others : [[first, ...rest], ...others];
}

function keyOf([kind, { tickers, examples, days }]: KindTally): readonly unknown[] {
  if (OF_GAPS.includes(kind)) return ["gaps", tickers, examples];
  return [kind, tickers, examples, days.size, days.first, days.last];
}

/** Filled values are more severe than erased ones, and both together tell the most. */
function gravity(kinds: ChangeCause["kinds"]): number {
  return kinds.length + (kinds[0][0] === "filled" ? 1 : 0);
}
