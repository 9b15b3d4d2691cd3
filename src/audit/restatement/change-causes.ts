import type { ChangeTally, FeatureTally, TallyKind } from "./change-tally.ts";

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
